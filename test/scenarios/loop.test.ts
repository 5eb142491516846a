/** SCENARIOS 1 to 3, 6, 7: the loop and its ends. */
import { defineTool } from 'everlap';
import { answer, call, text } from 'everlap/testing';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { startRig, type Rig, type RigOptions } from '../support/rig.js';

let rig: Rig;
afterEach(() => rig.stop());

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  input: z.object({ a: z.number(), b: z.number() }),
  effects: 'none',
  execute: ({ a, b }) => a + b,
});

async function runWith(options: RigOptions) {
  rig = await startRig({ ...options, agent: { tools: [add], ...options.agent } });
  const run = await rig.start();
  return { run, result: await run.result() };
}

test('one tool turn, then text: the second call sees the whole conversation', async () => {
  const { result } = await runWith({ script: [call('add', { a: 1, b: 2 }), text('It is 3.')] });
  expect(result).toMatchObject({
    status: 'completed',
    reason: 'answered',
    output: 'It is 3.',
    turns: 2,
    toolCalls: 1,
    laps: 1,
  });
  expect(rig.model.requests).toHaveLength(2);
  expect(rig.model.requests[1]?.messages).toMatchObject([
    { role: 'system', content: 'You are being tested.' },
    { role: 'user', content: 'Do it.' },
    { role: 'assistant', tool_calls: [{ function: { name: 'add', arguments: '{"a":1,"b":2}' } }] },
    { role: 'tool', content: '3' },
  ]);
});

test('finish_reason "stop" with calls runs them; "tool_calls" with text alone is the answer', async () => {
  const { result } = await runWith({
    script: [call('add', { a: 1, b: 2 }, { finish: 'stop' }), text('Three.', { finish: 'tool_calls' })],
  });
  expect(result).toMatchObject({ status: 'completed', output: 'Three.', toolCalls: 1 });
});

test('max_turns: exactly as many model calls, no answer made up, Temporal status Completed', async () => {
  const { run, result } = await runWith({
    agent: { limits: { turns: 3 } },
    script: (_, turn) => call('add', { a: turn, b: 1 }),
  });
  expect(result).toMatchObject({ status: 'exhausted', reason: 'max_turns', output: null, turns: 3, toolCalls: 3 });
  expect(rig.model.requests).toHaveLength(3);
  expect((await run.temporal.describe()).status.name).toBe('COMPLETED');
});

test('onLimit summarize: one last call with tools off; the status stays exhausted', async () => {
  const { result } = await runWith({
    agent: { limits: { turns: 3 }, onLimit: 'summarize' },
    script: (_, turn) => (turn < 3 ? call('add', { a: turn, b: 1 }) : text('So far: three sums.')),
  });
  expect(result).toMatchObject({ status: 'exhausted', reason: 'max_turns', output: 'So far: three sums.' });
  expect(rig.model.requests).toHaveLength(4);
  expect(rig.model.requests[3]?.body).toMatchObject({ tool_choice: 'none' });
});

test.each([
  ['no content', ''],
  ['whitespace', '  \n '],
])('an empty answer (%s) is asked for once more', async (_, words) => {
  const { result } = await runWith({ script: [text(words), text('Here it is.')] });
  expect(result).toMatchObject({ status: 'completed', output: 'Here it is.', turns: 1 });
});

test.each([
  ['nothing', answer()],
  ['reasoning alone', answer({ reasoning: 'Hm.' })],
])('empty twice (%s): failed as empty_answer', async (_, step) => {
  const { run, result } = await runWith({ script: [step, step] });
  expect(result).toMatchObject({ status: 'failed', reason: 'empty_answer', output: null });
  expect(result.error).toMatch(/nothing, twice/);
  expect((await run.temporal.describe()).status.name).toBe('FAILED');
});

test('the same call with the same result: a warning after three, the end after four', async () => {
  const { run, result } = await runWith({ script: () => call('add', { a: 1, b: 1 }) });
  expect(result).toMatchObject({ status: 'stopped', reason: 'stuck', turns: 4 });
  const notices = (await run.messages()).filter((message) => message.role === 'user' && message.kind === 'notice');
  expect(notices).toHaveLength(1);
});

test('A B A B is caught too; a poll whose result changes is not stuck', async () => {
  const { result } = await runWith({ script: (_, turn) => call('add', { a: turn % 2, b: 1 }) });
  expect(result).toMatchObject({ status: 'stopped', reason: 'stuck', turns: 7 });
});

test('polling whose results change goes on', async () => {
  let polls = 0;
  const poll = defineTool({
    name: 'poll',
    description: 'Asks how far it is.',
    input: z.object({}),
    effects: 'none',
    execute: () => `${(polls += 1)} of 8`,
  });
  const { result } = await runWith({
    agent: { tools: [poll] },
    script: (_, turn) => (turn < 8 ? call('poll', {}) : text('Done.')),
  });
  expect(result).toMatchObject({ status: 'completed', output: 'Done.', turns: 9 });
});
