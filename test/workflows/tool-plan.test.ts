import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ToolSpec } from '../../src/agents/spec.js';
import { planCalls } from '../../src/workflows/tool-plan.js';

const tool = (name: string, more: Partial<ToolSpec> = {}): ToolSpec => ({
  name,
  description: name,
  parameters: { type: 'object', properties: {} },
  effects: 'none',
  concurrency: 'parallel',
  approval: 'never',
  timeoutMs: 1000,
  execution: 'activity',
  attempts: 1,
  ...more,
});
const TOOLS = [tool('read'), tool('write', { concurrency: 'serial', effects: 'once' })];
const call = (name: string, args = '{}') => ({ id: `id-${name}`, name, arguments: args });
const textOf = (name: string, args?: string, cut = false, tools: readonly ToolSpec[] = TOOLS): string | undefined => {
  const [planned] = planCalls(tools, [call(name, args)], cut);
  return planned?.kind === 'refuse' ? planned.text : undefined;
};

describe('planCalls', () => {
  test.each([
    ['{"a":1}', { a: 1 }],
    ['', {}],
    [' \n', {}],
    [' {} ', {}],
  ])('arguments %j are read', (args, value) => {
    expect(planCalls(TOOLS, [call('read', args)], false)).toMatchObject([{ kind: 'run', index: 0, args: value }]);
  });

  test.each(['{"a":1', 'a', '{a:1}', '{"a":1}}', '\u0000'])('arguments %j are no JSON', (args) => {
    expect(textOf('read', args)).toMatch(/^Error: the arguments are not valid JSON\..*not run/);
  });

  test.each(['[]', 'null', '5', '"{}"', 'true'])('arguments %j are no object', (args) => {
    expect(textOf('read', args)).toMatch(/^Error: the arguments must be one JSON object\..*not run/);
  });

  test.each(['nothing', '__proto__', 'constructor', 'toString', 'READ', ''])('%j is an unknown name', (name) => {
    expect(textOf(name)).toBe(`Error: there is no tool named "${name}". The tools are: read, write.`);
  });

  test('an unknown name is cut; without tools that is what is said', () => {
    expect(textOf('x'.repeat(5000))?.length).toBeLessThan(300);
    expect(textOf('read', '{}', false, [])).toMatch(/There are no tools\.$/);
  });

  test('of an answer that was cut off the last call alone is not run, even where it parses', () => {
    expect(planCalls(TOOLS, [call('read'), call('write')], true)).toMatchObject([
      { kind: 'run' },
      { kind: 'refuse', text: expect.stringMatching(/cut off.*not run/) as string },
    ]);
  });

  test('in plan mode only tools without effects run', () => {
    expect(planCalls(TOOLS, [call('read'), call('write')], false, 'plan')).toMatchObject([
      { kind: 'run' },
      { kind: 'refuse', text: expect.stringMatching(/plan mode/) as string },
    ]);
  });

  test('whatever a model writes: each call is planned once, in order, and nothing is thrown', () => {
    const calls = fc.array(
      fc.record({
        id: fc.string(),
        name: fc.oneof(fc.constantFrom('read', 'write'), fc.string()),
        arguments: fc.oneof(fc.json(), fc.string()),
      }),
    );
    fc.assert(
      fc.property(calls, fc.boolean(), (list, cut) => {
        const plan = planCalls(TOOLS, list, cut);
        expect(plan.map(({ index }) => index)).toEqual(list.map((_, index) => index));
        expect(plan.map((planned) => planned.call)).toEqual(list);
      }),
    );
  });
});
