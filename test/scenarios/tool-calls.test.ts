/** SCENARIOS 21 to 23 and their neighbours: the calls that a model makes, well or badly, and the order of what comes back. */
import { defineTool, type Message, type ToolCallInfo } from 'everlap';
import { call, calls, gate, text, type Gate, type Step } from 'everlap/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { containing, play, scriptsOf, type Case } from '../support/cases.js';
import { startRig, type Rig } from '../support/rig.js';

const define = (name: string, input: z.ZodObject, execute: (args: never, context: never) => unknown) =>
  defineTool({ name, description: `The tool ${name}.`, input, effects: 'none', execute: execute as never });

/** Calls that are under way, by task; and the most there were at one time. */
const under = new Map<string, { now: Set<string>; log: string[] }>();
function enter(task: string, who: string): { now: Set<string>; log: string[] } {
  const state = under.get(task) ?? { now: new Set(), log: [] };
  under.set(task, state);
  state.now.add(who);
  state.log.push([...state.now].sort().join('+'));
  return state;
}
/** Opened by the last of the neighbours that are expected to be there together. */
const meetings = new Map<string, { gate: Gate; missing: number }>();

const meet = defineTool({
  name: 'meet',
  description: 'Ends when as many as `of` are there.',
  input: z.object({ who: z.string(), of: z.number() }),
  effects: 'none',
  execute: async ({ who, of }, { call: { runId } }) => {
    const state = enter(runId, who);
    const meeting = meetings.get(runId) ?? { gate: gate(), missing: of };
    meetings.set(runId, meeting);
    meeting.missing -= 1;
    if (meeting.missing <= 0) meeting.gate.open();
    await meeting.gate.promise;
    state.now.delete(who);
    return who;
  },
});
const alone = defineTool({
  name: 'alone',
  description: 'Must be alone.',
  input: z.object({ who: z.string() }),
  effects: 'none',
  concurrency: 'serial',
  execute: async ({ who }, { call: { runId } }) => {
    const state = enter(runId, who);
    // Long enough for a neighbour to come in, were it let in.
    for (let i = 0; i < 20; i += 1) await new Promise((resolve) => setImmediate(resolve));
    state.now.delete(who);
    return who;
  },
});
const seen: ToolCallInfo[] = [];
const checked = defineTool({
  name: 'checked',
  description: 'Has checks that no JSON Schema shows.',
  input: z.object({
    even: z
      .number()
      .refine((n) => n % 2 === 0, 'must be even')
      .optional(),
    known: z
      .string()
      .refine(async (name) => Promise.resolve(name === 'ada'), 'is nobody we know')
      .optional(),
    size: z.number().default(3),
    words: z
      .string()
      .transform((words) => words.split(' '))
      .optional(),
    throws: z
      .string()
      .refine(() => {
        throw new Error('the check itself broke');
      })
      .optional(),
    hangs: z
      .string()
      .refine(() => new Promise<boolean>(() => undefined))
      .optional(),
  }),
  timeout: '1 second',
  execute: (args, { call: info }) => {
    seen.push(info);
    return args;
  },
});
const plain = define('plain', z.object({}), () => 'plain');
const three = define('third', z.object({ n: z.number() }), ({ n }: { n: number }) => {
  if (n % 10 === 3) throw new Error(`no ${n}`);
  return `yes ${n}`;
});
const echo = define('echo', z.object({ value: z.json() }), ({ value }: { value: unknown }) => value);

const then = (step: Step) => ({ script: [step, text('Done.')] });
const deep = (levels: number) => `{"value":${'['.repeat(levels)}${']'.repeat(levels)}}`;

/** One call, and what its result says. `undefined`: it went well. */
const single: Record<string, [Step, RegExp | undefined, string?]> = {
  'lacks a brace': [call('echo', '{"value": 1'), /^Error: the arguments are not valid JSON\. The tool was not run\.$/],
  'is no JSON': [call('echo', 'value=1'), /not valid JSON/],
  'is Python': [call('echo', "{'value': None}"), /not valid JSON/],
  'is two objects': [call('echo', '{"value":1}{"value":2}'), /not valid JSON/],
  'is a list': [call('echo', '[]'), /must be one JSON object/],
  'is null': [call('echo', 'null'), /must be one JSON object/],
  'is a text': [call('echo', '"{\\"value\\":1}"'), /must be one JSON object/],
  'is empty, for a tool with parameters': [call('echo', ''), /arguments do not fit the tool echo[^]*value/],
  'is empty, for a tool without': [call('plain', ''), undefined, 'plain'],
  'is white space, for a tool without': [call('plain', ' \n '), undefined, 'plain'],
  'has a field too many': [call('plain', { more: 1 }), undefined, 'plain'],
  'has a wrong type': [call('third', { n: '7' }), /arguments do not fit the tool third[^]*n/],
  'has a number too large': [call('third', '{"n": 1e999}'), /arguments do not fit/],
  'has __proto__': [call('echo', '{"value": 1, "__proto__": {"value": 2}}'), undefined, '1'],
  'has lone surrogates': [call('echo', '{"value": "a\\ud83d"}'), undefined, 'a\ufffd'],
  'is nested deeply': [call('echo', deep(90)), undefined],
  'is nested beyond reason': [call('echo', deep(100_000)), /nested more than 100 levels deep/],
  'has brackets in strings': [call('echo', { value: '[['.repeat(500) + '\\"' }), undefined],
  'names nothing': [
    call('', {}),
    /there is no tool named ""\. The tools are: meet, alone, checked, plain, third, echo, read_result\./,
  ],
  'names __proto__': [call('__proto__', {}), /there is no tool named "__proto__"\. The tools are: meet/],
  'names toString': [call('toString', {}), /there is no tool named "toString"/],
  'names another case': [call('Echo', { value: 1 }), /there is no tool named "Echo"/],
  'has a name without end': [
    call('n'.repeat(50_000), {}),
    /there is no tool named "n+\s\[… \d+ characters left out …\]/,
  ],
  'fails a refinement': [call('checked', { even: 3 }), /must be even/],
  'fails an async refinement': [call('checked', { known: 'bob' }), /is nobody we know/],
  'passes them': [
    call('checked', { even: 2, known: 'ada', words: 'a b' }),
    undefined,
    '{"even":2,"size":3,"words":["a","b"],"known":"ada"}',
  ],
  'meets a check that throws': [call('checked', { throws: 'x' }), /the check itself broke/],
  'meets a check that hangs': [
    call('checked', { hangs: 'x' }),
    /^Error: it took longer than 1 seconds and was stopped/,
  ],
};

const cases: Record<string, Case> = {
  ...Object.fromEntries(Object.entries(single).map(([name, [step]]) => [`one that ${name}.`, then(step)])),
  'thirty calls': then(calls(Array.from({ length: 30 }, (_, n) => ({ name: 'third', arguments: { n } })))),
  'three neighbours': then(calls(['a', 'b', 'c'].map((who) => ({ name: 'meet', arguments: { who, of: 3 } })))),
  'three serial calls': then(calls(['a', 'b', 'c'].map((who) => ({ name: 'alone', arguments: { who } })))),
  'serial between neighbours': then(
    calls([
      { name: 'meet', arguments: { who: 'a', of: 2 } },
      { name: 'meet', arguments: { who: 'b', of: 2 } },
      { name: 'alone', arguments: { who: 'c' } },
      { name: 'meet', arguments: { who: 'd', of: 0 } },
    ]),
  ),
  'bad calls between neighbours': then(
    calls([
      { name: 'meet', arguments: { who: 'a', of: 2 } },
      { name: 'nobody', arguments: {} },
      { name: 'echo', arguments: '{' },
      { name: 'meet', arguments: { who: 'b', of: 2 } },
    ]),
  ),
  'equal calls': then(
    calls([
      { name: 'checked', arguments: { size: 1 } },
      { name: 'checked', arguments: { size: 1 } },
    ]),
  ),
};

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ byTask: scriptsOf(cases), agent: { tools: [meet, alone, checked, plain, three, echo] } });
});
afterAll(() => rig.stop());
const playCase = (name: string) => play(rig, name, cases[name]);
const results = (messages: readonly Message[]) => messages.filter((message) => message.role === 'tool');

describe.concurrent('tool calls', () => {
  test.each(Object.keys(single))('one that %s', async (name) => {
    const { result, requests, messages } = await playCase(`one that ${name}.`);
    const [, said, exactly] = single[name] ?? [];
    expect(result).toMatchObject({ status: 'completed', output: 'Done.', turns: 2 });
    expect(requests).toHaveLength(2);
    const [one] = results(messages);
    expect(results(messages)).toHaveLength(1);
    if (said) expect(one).toMatchObject({ isError: true, text: expect.stringMatching(said) as unknown });
    else expect(one?.isError).toBeUndefined();
    if (exactly !== undefined) expect(one?.text.replace(/\s/g, '')).toBe(exactly.replace(/\s/g, ''));
  });

  test('30 calls, 3 of them fail: 30 results in call order, one model call after them', async () => {
    const { result, requests, messages } = await playCase('thirty calls');
    expect(result).toMatchObject({ status: 'completed', turns: 2, toolCalls: 30 });
    expect(requests).toHaveLength(2);
    expect(results(messages).map(({ text, isError }) => [text, isError === true])).toEqual(
      Array.from({ length: 30 }, (_, n) => (n % 10 === 3 ? [`Error: no ${n}`, true] : [`yes ${n}`, false])),
    );
    const asked = requests[1]?.messages.filter(({ role }) => role === 'assistant')[0]?.tool_calls ?? [];
    expect(results(messages).map(({ callId }) => callId)).toEqual(asked.map(({ id }) => id));
  });

  test('parallel neighbours run at the same time', async () => {
    const { run, messages } = await playCase('three neighbours');
    expect(under.get(run.id)?.log).toContain('a+b+c');
    expect(results(messages).map(({ text }) => text)).toEqual(['a', 'b', 'c']);
  });

  test('serial calls never overlap, and run in call order', async () => {
    const { run, messages } = await playCase('three serial calls');
    expect(under.get(run.id)?.log).toEqual(['a', 'b', 'c']);
    expect(results(messages).map(({ text }) => text)).toEqual(['a', 'b', 'c']);
  });

  test('a serial call between parallel ones is alone', async () => {
    const { run, messages } = await playCase('serial between neighbours');
    expect(under.get(run.id)?.log.slice(-2)).toEqual(['c', 'd']);
    expect(results(messages).map(({ text }) => text)).toEqual(['a', 'b', 'c', 'd']);
  });

  test('refused calls part no neighbours', async () => {
    const { run, messages, result } = await playCase('bad calls between neighbours');
    expect(under.get(run.id)?.log).toContain('a+b');
    expect(results(messages)).toMatchObject([
      { text: 'a' },
      { isError: true, text: containing('no tool named') },
      { isError: true, text: containing('not valid JSON') },
      { text: 'b' },
    ]);
    expect(result.toolCalls).toBe(2);
  });

  test('two equal calls are two, each with a key of its own', async () => {
    const { run } = await playCase('equal calls');
    const own = seen.filter(({ runId }) => runId === run.id);
    expect(own).toHaveLength(2);
    expect(new Set(own.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(2);
  });
});
