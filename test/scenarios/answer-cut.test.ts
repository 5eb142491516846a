/** SCENARIO 35 and its neighbours: answers that the output limit cut off. */
import { defineTool } from 'everlap';
import { answer, call, calls, httpError, text } from 'everlap/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { containing, play, scriptsOf, type Case } from '../support/cases.js';
import { startRig, type Rig } from '../support/rig.js';

const noted: string[] = [];
const note = defineTool({
  name: 'note',
  description: 'Takes a note.',
  input: z.object({ words: z.string() }),
  effects: 'none',
  execute: ({ words }) => {
    noted.push(words);
    return 'noted';
  },
});

const CUT = { finish: 'length' };
const BIG = 'All work and no play. '.repeat(30_000);

const cases: Record<string, Case> = {
  'three parts': { script: [text('One, ', CUT), text('two, ', CUT), text('three.')] },
  'parts without end': { script: [text('a', CUT), text('b', CUT), text('c', CUT), text('d', CUT)] },
  'a continuation that fails': { script: [text('One, ', CUT), httpError(401)] },
  'a continuation with a call': {
    script: [text('I note: ', CUT), call('note', { words: 'it' }, { text: 'now.' }), text('Done.')],
  },
  'an empty continuation': { script: [text('All there is.', CUT), answer()] },
  'nothing but the cut': { script: [answer(CUT), text('In fewer words.')] },
  'reasoning in parts': {
    script: [
      text('One, ', { ...CUT, reasoning: 'Hm.', extra: { signature: 'a' } }),
      text('two.', { extra: { signature: 'b' } }),
    ],
  },
  'cut inside a call': {
    script: [call('note', '{"words": "cut he', CUT), call('note', { words: 'whole' }), text('Done.')],
  },
  'cut, though the call can be parsed': { script: [call('note', { words: 'parsed' }, CUT), text('Done.')] },
  'cut inside the second of two calls': {
    script: [
      calls(
        [
          { name: 'note', arguments: { words: 'first of two' } },
          { name: 'note', arguments: '{"words": "sec' },
        ],
        CUT,
      ),
      text('Done.'),
    ],
  },
  'parts larger than a payload': {
    script: () => text(BIG, { ...CUT, pieceChars: 50_000 }),
  },
  'deadline within a continuation': {
    script: [text('One, ', CUT), httpError(429, { headers: { 'retry-after': '9999' } })],
    settings: { limits: { duration: '3 seconds' } },
  },
};

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ byTask: scriptsOf(cases), agent: { tools: [note] } });
});
afterAll(() => rig.stop());
const playCase = (name: string) => play(rig, name, cases[name]);
const assistants = (messages: readonly { role: string }[]) => messages.filter(({ role }) => role === 'assistant');

describe.concurrent('answers cut off by the output limit', () => {
  test('three parts are one answer, one message, one turn', async () => {
    const { result, requests, messages } = await playCase('three parts');
    expect(result).toMatchObject({ status: 'completed', output: 'One, two, three.', turns: 1 });
    expect(messages.slice(1)).toEqual([{ role: 'assistant', text: 'One, two, three.' }]);
    expect(requests[2]?.messages.slice(2)).toMatchObject([
      { role: 'assistant', content: 'One, two, ' },
      { role: 'user', content: containing('Go on') },
    ]);
  });

  test('parts without end: joined three times, then taken as they are', async () => {
    const { run, result, requests } = await playCase('parts without end');
    expect(requests).toHaveLength(4);
    expect(result).toMatchObject({ status: 'completed', output: 'abcd', turns: 1 });
    expect((await run.state()).lastError).toMatch(/cut off/);
  });

  test('a continuation that fails: the run has failed, the part stays', async () => {
    const { result, messages } = await playCase('a continuation that fails');
    expect(result).toMatchObject({ status: 'failed', reason: 'auth', turns: 0 });
    expect(messages.slice(1)).toEqual([{ role: 'assistant', text: 'One, ' }]);
  });

  test('a continuation with a call: text joined, call run', async () => {
    const { result, requests, messages } = await playCase('a continuation with a call');
    expect(result).toMatchObject({ status: 'completed', output: 'Done.', turns: 2, toolCalls: 1 });
    expect(messages.slice(1)).toMatchObject([
      { role: 'assistant', text: 'I note: now.', toolCalls: [{ name: 'note' }] },
      { role: 'tool', text: 'noted' },
      { role: 'assistant', text: 'Done.' },
    ]);
    // What follows sees the joined message alone.
    expect(requests[2]?.messages.slice(2)).toMatchObject([{ content: 'I note: now.' }, { role: 'tool' }]);
  });

  test('an empty continuation ends the answer', async () => {
    const { result, messages } = await playCase('an empty continuation');
    expect(result).toMatchObject({ status: 'completed', output: 'All there is.', turns: 1 });
    expect(assistants(messages)).toHaveLength(1);
  });

  test('cut before the first word: asked once more', async () => {
    const { result } = await playCase('nothing but the cut');
    expect(result).toMatchObject({ status: 'completed', output: 'In fewer words.', turns: 1 });
  });

  test('reasoning stays readable, and the newest signature goes back', async () => {
    const { messages } = await playCase('reasoning in parts');
    expect(assistants(messages)).toMatchObject([{ text: 'One, two.', reasoning: 'Hm.', extra: { signature: 'b' } }]);
  });

  test.each([
    ['cut inside a call', { toolCalls: 1, turns: 3 }],
    ['cut, though the call can be parsed', { toolCalls: 0, turns: 2 }],
    ['cut inside the second of two calls', { toolCalls: 1, turns: 2 }],
  ])('%s: not run, and the model is told', async (name, counts) => {
    const { result, messages } = await playCase(name);
    expect(result).toMatchObject({ status: 'completed', output: 'Done.', ...counts });
    const refused = messages.filter((message) => message.role === 'tool' && message.isError);
    expect(refused).toMatchObject([{ text: containing('cut off by the output length limit') }]);
    expect(noted).not.toContain('parsed');
  });

  test('parts larger than a payload are bounded, and the run ends well', async () => {
    const { result, requests, messages } = await playCase('parts larger than a payload');
    expect(result).toMatchObject({ status: 'completed', turns: 1 });
    expect(result.output?.startsWith(BIG)).toBe(true);
    expect(result.output?.length).toBeLessThanOrEqual(1_000_000);
    expect(assistants(messages)).toHaveLength(1);
    expect(requests.length).toBeLessThanOrEqual(4);
  });

  test('a deadline within a continuation: the part stays, without the request to go on', async () => {
    const { result, messages } = await playCase('deadline within a continuation');
    expect(result).toMatchObject({ status: 'exhausted', reason: 'deadline' });
    expect(messages.slice(1)).toEqual([{ role: 'assistant', text: 'One, ' }]);
  });
});
