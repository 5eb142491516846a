/** Conversations whose messages end otherwise than by an answer: what is said of them, to whom, and what the run ends with. */
import { randomUUID } from 'node:crypto';
import { defineAgent, defineTool, handoffTo } from 'everlap';
import { RunEndedError, type RunHandle } from 'everlap/client';
import { call, calls, gate, text, type RecordedRequest } from 'everlap/testing';
import { afterEach, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { eventually, startRig, type Rig } from '../support/rig.js';

let rig: Rig;
afterEach(() => rig.stop());

const users = ({ messages }: RecordedRequest): string[] =>
  messages.filter(({ role }) => role === 'user').map(({ content }) => String(content));

const idle = (run: RunHandle): Promise<unknown> =>
  eventually(async () => (await run.state()).status === 'idle', 'the run to idle');

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.object({ at: z.number() }),
  effects: 'none',
  execute: ({ at }) => `seen ${at}`,
});

test('the output of a session is its last answer, not what was said on the way to none', async () => {
  rig = await startRig({
    agent: { tools: [look], session: { limits: { toolCalls: 1 }, idleTimeout: '1 second' } },
    script: (request) =>
      users(request).at(-1) === 'search' ? call('look', { at: 1 }, { text: 'I look.' }) : text('It is so.'),
  });
  const run = await rig.start({ task: 'one' });
  await idle(run);
  expect(await run.followUp('search')).toMatchObject({ reason: 'max_tool_calls', answer: null });
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'It is so.' });
});

test('answers of an agent with a form are parsed; one without it is no output of the session', async () => {
  const agent = defineAgent({
    name: 'tester',
    instructions: 'Answer in the form.',
    model: 'gpt-5-mini',
    output: z.object({ n: z.number() }),
    session: { idleTimeout: '1 second' },
  });
  rig = await startRig({
    agents: [agent],
    script: (request) => text(users(request).includes('fail') ? 'no form' : '{"n":1}'),
  });
  const { run, ...one } = await rig.client.startWithFollowUp({ agent, followUp: 'one' });
  if (one.reason !== 'answered') throw new Error(one.reason);
  expectTypeOf(one.answer).toEqualTypeOf<{ n: number }>();
  expect(one.answer).toEqual({ n: 1 });
  expect(await run.followUp('two')).toMatchObject({ position: 1, reason: 'answered', answer: { n: 1 } });
  expect(await run.followUp('fail')).toMatchObject({ reason: 'invalid_output', answer: null });
  expect(await run.result()).toMatchObject({ status: 'completed', output: { n: 1 } });
});

test('the summary of a message that reached its limit is the last answer, and forbids the next message nothing', async () => {
  rig = await startRig({
    agent: { tools: [look], session: { limits: { toolCalls: 1 } }, onLimit: 'summarize' },
    script: (request) => {
      const said = users(request).at(-1);
      if (said?.includes('(max_tool_calls)')) return text('Seen one.');
      return said === 'search' ? call('look', { at: 1 }) : text('Thanks.');
    },
  });
  const { run, ...reply } = await rig.client.startWithFollowUp({ agent: rig.agent, followUp: 'search' });
  expect(reply).toMatchObject({ reason: 'max_tool_calls', answer: 'Seen one.' });
  const notice = users(rig.model.requests.at(-1) as RecordedRequest).at(-1);
  expect(notice).not.toMatch(/run ends/);
  expect(notice).toMatch(/this message/);
  await run.forceFinish();
  expect(await run.result()).toMatchObject({ status: 'stopped', output: 'Seen one.' });
});

test('force-finish before a message has an answer: its asker is not given the answer to another', async () => {
  const held = gate();
  rig = await startRig({
    agent: { tools: [look], session: {} },
    script: async (request) => {
      if (users(request).at(-1) !== 'two') return text('First.');
      await held.promise;
      return call('look', { at: 1 });
    },
  });
  const { run } = await rig.client.startWithFollowUp({ agent: rig.agent, followUp: 'one' });
  const second = run.followUp('two');
  await eventually(async () => rig.model.requests.length === 2);
  await run.forceFinish();
  held.open();
  expect(await second).toMatchObject({ reason: 'force_finished', answer: null });
  expect(await run.result()).toMatchObject({ status: 'stopped', output: 'First.' });
});

test('a run that is terminated in the middle of a message is not followed by another that does it again', async () => {
  const held = gate();
  rig = await startRig({
    agent: { session: {} },
    script: async () => {
      await held.promise;
      return text('Done.');
    },
  });
  const id = `chat-${randomUUID()}`;
  const asked = rig.client
    .startWithFollowUp({ agent: rig.agent, id, followUp: 'pay' })
    .catch((error: unknown) => error);
  await eventually(async () => rig.model.requests.length === 1);
  await rig.client.handle(id).temporal.terminate();
  held.open();
  const error = await asked;
  expect(error).toBeInstanceOf(RunEndedError);
  const { status } = await rig.client.handle(id).temporal.describe();
  expect(status.name).toBe('TERMINATED');
});

test('a handoff in a turn that the deadline of its message ends holds for the next message', async () => {
  const slow = defineTool({
    name: 'slow',
    description: 'Takes its time.',
    input: z.object({}),
    effects: 'none',
    execute: (_, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  });
  const expert = defineAgent({ name: 'expert', instructions: 'You are the expert.', model: 'gpt-5-mini' });
  const desk = defineAgent({
    name: 'desk',
    instructions: 'You are the desk.',
    model: 'gpt-5-mini',
    tools: [slow, handoffTo(expert)],
    session: { limits: { duration: '2 seconds' } },
  });
  rig = await startRig({
    agents: [desk, expert],
    script: (request) =>
      users(request).at(-1) === 'wait'
        ? calls([
            { name: 'handoff_to_expert', arguments: {} },
            { name: 'slow', arguments: {} },
          ])
        : text(JSON.stringify(request.messages[0]?.content)),
  });
  const { run, ...reply } = await rig.client.startWithFollowUp({ agent: desk, followUp: 'wait' });
  expect(reply).toMatchObject({ reason: 'deadline', answer: null });
  expect(await run.followUp('thanks')).toMatchObject({ answer: expect.stringContaining('You are the expert.') });
  expect(await run.state()).toMatchObject({ agent: 'expert' });
});
