import { DefinitionError, defineAgent, defineTool, type AgentOptions } from 'everlap';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

const tool = (name: string) => defineTool({ name, description: 'x', input: z.object({}), execute: () => 'x' });
const GOOD: AgentOptions = { name: 'clerk', instructions: 'Check.', model: 'gpt-5-mini' };
/** As somebody calls it who has no types. */
const define = (more: object): unknown => defineAgent({ ...GOOD, ...more });
const cyclic: Record<string, unknown> = {};
cyclic['self'] = cyclic;

test('keeps its options as they are, its tools in a list of their own', () => {
  const read = tool('read');
  const options: AgentOptions = {
    ...GOOD,
    model: { name: 'gpt-5-mini', attempts: 2, timeout: '5 minutes', maxOutputTokens: 500 },
    fallbackModels: ['gpt-4.1-mini'],
    tools: [read],
    limits: { turns: 5, usd: 1, duration: '1 hour' },
    onLimit: 'summarize',
    stuckWindow: 2,
    context: { window: 1000, compactAt: 1, keepTurns: 1 },
    toolResult: { maxChars: 200 },
    laps: { max: 3, until: { promise: 'DONE' }, handoff: 'note', spec: 'per-lap' },
    heartbeatTimeout: '5 seconds',
  };
  const agent = defineAgent(options);
  expect(agent).toEqual({ name: 'clerk', options, tools: [read] });
  expect(defineAgent(GOOD).tools).toEqual([]);
});

describe('what cannot work is refused, naming agent and field', () => {
  test.each<[string, object, RegExp]>([
    ['a bad name', { name: 'the clerk' }, /^Agent "the clerk": a name/],
    ['no instructions', { instructions: undefined }, /^Agent clerk: instructions/],
    ['no model', { model: undefined }, /^Agent clerk: model/],
    ['an empty model', { model: ' ' }, /^Agent clerk: model/],
    ['a model without a name', { model: { attempts: 1 } }, /^Agent clerk: model/],
    ['no attempts', { model: { name: 'm', attempts: 0 } }, /^Agent clerk: model\.attempts is 0/],
    ['no duration', { model: { name: 'm', idleTimeout: 'soon' } }, /^Agent clerk: model\.idleTimeout is "soon"/],
    ['no output', { model: { name: 'm', maxOutputTokens: 0 } }, /^Agent clerk: model\.maxOutputTokens/],
    ['fallbacks that are no list', { fallbackModels: 'gpt-4.1' }, /^Agent clerk: fallbackModels/],
    ['a fallback that is no name', { fallbackModels: [''] }, /^Agent clerk: fallbackModels/],
    ['a fallback with options', { fallbackModels: [{ name: 'm' }] }, /^Agent clerk: fallbackModels/],
    ['tools that are no list', { tools: { read: 1 } }, /^Agent clerk: tools must be a list/],
    ['a tool that is none', { tools: [{ name: 'read' }] }, /^Agent clerk: tools has something.*"read"/],
    ['a tool that is nothing', { tools: [undefined] }, /^Agent clerk: tools has something.*undefined/],
    ['a tool that cannot be shown', { tools: [cyclic] }, /^Agent clerk: tools has something/],
    ['two tools of one name', { tools: [tool('read'), tool('read')] }, /^Agent clerk: .*two tools of the name read/],
    ['a limit below 1', { limits: { turns: 0 } }, /^Agent clerk: limits\.turns is 0/],
    ['an unknown limit', { limits: { rounds: 1 } }, /^Agent clerk: limits has no field "rounds"/],
    ['limits that are none', { limits: 5 }, /^Agent clerk: limits must be an object/],
    ['onLimit', { onLimit: 'sum up' }, /^Agent clerk: onLimit is "sum up"; .*stop, summarize/],
    ['mode', { mode: 'yolo' }, /^Agent clerk: mode is "yolo"/],
    ['a window of 1', { stuckWindow: 1 }, /^Agent clerk: stuckWindow is 1/],
    ['a result of no length', { toolResult: { maxChars: 1 } }, /^Agent clerk: toolResult\.maxChars/],
    ['a small window', { context: { window: 10 } }, /^Agent clerk: context\.window/],
    ['a share above 1', { context: { compactAt: 80 } }, /^Agent clerk: context\.compactAt is 80/],
    ['a share that is none', { context: { compactAt: '80%' } }, /^Agent clerk: context\.compactAt is "80%"/],
    ['no turns to keep', { context: { keepTurns: 0 } }, /^Agent clerk: context\.keepTurns/],
    ['no laps', { laps: { max: 0, until: { promise: 'x' } } }, /^Agent clerk: laps\.max is 0/],
    ['laps without an end', { laps: { max: 1 } }, /^Agent clerk: laps\.until/],
    ['an empty promise', { laps: { max: 1, until: { promise: ' ' } } }, /^Agent clerk: laps\.until/],
    ['a promise of two lines', { laps: { max: 1, until: { promise: 'a\nb' } } }, /^Agent clerk: laps\.until/],
    [
      'an unknown handoff',
      { laps: { max: 1, until: { promise: 'x' }, handoff: 'mail' } },
      /^Agent clerk: laps\.handoff is "mail"/,
    ],
    ['an unknown spec', { laps: { max: 1, until: { verify: 'x' }, spec: 'new' } }, /^Agent clerk: laps\.spec is "new"/],
    ['no failures', { laps: { max: 1, until: { verify: 'x' }, maxFailed: 0 } }, /^Agent clerk: laps\.maxFailed/],
    [
      'laps with two ends',
      { laps: { max: 1, until: { promise: 'x', verify: 'y' } } },
      /^Agent clerk: laps\.until has both a promise and a verify/,
    ],
    ['a context that is none', { context: 5 }, /^Agent clerk: context must be an object; its fields are window, /],
    ['toolResult that is none', { toolResult: null }, /^Agent clerk: toolResult must be an object/],
    [
      'an output that is no schema',
      { output: { ok: true } },
      /^Agent clerk: the output is \{"ok":true\}; .* zod 4 schema/,
    ],
    ['no heartbeat', { heartbeatTimeout: 0 }, /^Agent clerk: heartbeatTimeout is 0/],
  ])('%s', (_, more, words) => {
    expect(() => define(more)).toThrow(DefinitionError);
    expect(() => define(more)).toThrow(words);
  });

  test('nothing at all', () => {
    expect(() => defineAgent(null as never)).toThrow(DefinitionError);
  });
});
