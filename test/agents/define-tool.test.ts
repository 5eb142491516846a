import { askHuman, DefinitionError, defineTool, type JsonSchemaToolOptions, type ToolContext } from 'everlap';
import fc from 'fast-check';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';

const GOOD = {
  name: 'read',
  description: 'Reads.',
  input: z.object({ path: z.string() }),
  execute: () => 'x',
};
/** As somebody calls it who has no types. */
const define = (more: object): unknown => defineTool({ ...GOOD, ...more });

test('defaults: once, parallel, never asks, 5 minutes, 3 attempts, an activity', () => {
  expect(defineTool(GOOD)).toMatchObject({
    effects: 'once',
    concurrency: 'parallel',
    approval: 'never',
    timeoutMs: 300_000,
    attempts: 3,
    execution: 'activity',
    ends: false,
    parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  });
  expect(defineTool({ ...GOOD, effects: 'none', execution: 'local' }).timeoutMs).toBe(10_000);
  expect(defineTool({ ...GOOD, timeout: '30 seconds' }).timeoutMs).toBe(30_000);
});

test('a tool without parameters has an object without properties', () => {
  expect(defineTool({ ...GOOD, input: z.object({}) }).parameters).toEqual({ type: 'object', properties: {} });
});

describe('what cannot work is refused, naming tool and field', () => {
  test.each<[string, object, RegExp]>([
    ['a name with a space', { name: 'read file' }, /^Tool "read file": a name must be 1 to 64/],
    ['a long name', { name: 'x'.repeat(65) }, /a name must be 1 to 64/],
    ['an empty name', { name: '' }, /^Tool "": a name/],
    ['a dot', { name: 'a.b' }, /^Tool "a\.b"/],
    ['another script', { name: 'læs' }, /^Tool "læs"/],
    ['no name', { name: undefined }, /^Tool undefined/],
    ['no description', { description: undefined }, /^Tool read: .*description/],
    ['an empty description', { description: ' ' }, /^Tool read: .*description/],
    ['no execute', { execute: undefined }, /^Tool read: execute must be a function/],
    ['unknown effects', { effects: 'some' }, /^Tool read: effects is "some"; .*none, idempotent, once/],
    ['effects that are no text', { effects: 5n }, /^Tool read: effects is 5n/],
    ['unknown concurrency', { concurrency: 'both' }, /^Tool read: concurrency is "both"/],
    ['unknown execution', { execution: 'remote' }, /^Tool read: execution is "remote"/],
    [
      'unknown approval',
      { approval: 'maybe' },
      /^Tool read: approval is "maybe"; it must be "never", "always" or a function/,
    ],
    ['approval by a flag', { approval: true }, /^Tool read: approval is true; .* or a function/],
    ['no duration', { timeout: 'soon' }, /^Tool read: timeout is "soon"/],
    ['no time', { timeout: 0 }, /^Tool read: timeout is 0/],
    ['a timeout beyond any server', { timeout: 1e300 }, /^Tool read: timeout is .*100 years/],
    ['no attempts', { attempts: 0 }, /^Tool read: attempts is 0/],
    ['half an attempt', { attempts: 1.5 }, /^Tool read: attempts is 1\.5/],
    ['a local tool with effects', { execution: 'local' }, /^Tool read: execution "local".*effects "none"/],
    [
      'a local tool that asks',
      { execution: 'local', effects: 'none', approval: 'always' },
      /^Tool read: execution "local"/,
    ],
    [
      'a slow local tool',
      { execution: 'local', effects: 'none', timeout: '11 seconds' },
      /^Tool read: timeout.*10 seconds/,
    ],
    ['reconcile that is no function', { reconcile: true }, /^Tool read: reconcile must be a function/],
    ['no schema', { input: undefined }, /^Tool read: the input/],
    [
      'a schema of another kind',
      { input: { type: 'object' } },
      /^Tool read: the input is .* JSON Schema goes into parameters/,
    ],
    ['two schemas', { parameters: { type: 'object' } }, /^Tool read: it has both/],
  ])('%s', (_, more, words) => {
    expect(() => define(more)).toThrow(DefinitionError);
    expect(() => define(more)).toThrow(words);
  });

  test('nothing at all', () => {
    expect(() => defineTool(undefined as never)).toThrow(DefinitionError);
  });
});

test('a name is taken if every provider takes it, and only then', () => {
  const letters = 'abcXYZ019_-'.split('');
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...letters), minLength: 1, maxLength: 64 }), (name) => {
      expect(defineTool({ ...GOOD, name }).name).toBe(name);
    }),
  );
  fc.assert(
    fc.property(
      fc.string().filter((name) => !/^[a-zA-Z0-9_-]{1,64}$/.test(name)),
      (name) => {
        expect(() => define({ name })).toThrow(DefinitionError);
      },
    ),
  );
});

test('arguments are inferred from the schema', () => {
  defineTool({
    ...GOOD,
    input: z.object({
      path: z.string(),
      lines: z.number().optional(),
      at: z.string().transform((text) => text.length),
    }),
    approval: (args) => {
      expectTypeOf(args).toEqualTypeOf<{ path: string; lines?: number | undefined; at: number }>();
      return false;
    },
    execute: (args, context) => {
      expectTypeOf(args).toEqualTypeOf<{ path: string; lines?: number | undefined; at: number }>();
      expectTypeOf(context).toEqualTypeOf<ToolContext>();
    },
    reconcile: (key, args) => {
      expectTypeOf(key).toEqualTypeOf<string>();
      expectTypeOf(args.at).toEqualTypeOf<number>();
      return { done: false };
    },
  });
  defineTool({
    ...GOOD,
    // @ts-expect-error there is no such argument
    execute: ({ other }) => other,
  });
  expectTypeOf<Parameters<JsonSchemaToolOptions['execute']>[0]>().toExtend<object>();
  expect(true).toBe(true);
});

test('askHuman: a timeout must be one, and a default without one would never be given', () => {
  expect(() => askHuman({ defaultAnswer: 'No.' })).toThrow(/ask_human: defaultAnswer .* needs a timeout/);
  expect(() => askHuman({ timeout: '1 houur' })).toThrow(/^Tool ask_human: timeout is "1 houur"; /);
  expect(askHuman({ defaultAnswer: 'No.', timeout: 1000 })).toMatchObject({ execution: 'question' });
});
