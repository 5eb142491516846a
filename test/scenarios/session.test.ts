/** Conversations: a run that stays open, answers message after message, and loses none at its end. */
import { randomUUID } from 'node:crypto';
import { agentTool, defineAgent, defineTool } from 'everlap';
import { RunEndedError, type RunHandle } from 'everlap/client';
import { call, gate, httpError, text, type RecordedRequest, type Step } from 'everlap/testing';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { eventsOf } from '../support/history.js';
import { eventually, startRig, type Rig } from '../support/rig.js';

let rig: Rig;
afterEach(() => rig.stop());

const users = ({ messages }: RecordedRequest): string[] =>
  messages.filter(({ role }) => role === 'user').map(({ content }) => String(content));

/** Answers with the number of messages that people have sent, and the newest one. */
const echo = (request: RecordedRequest): Step => {
  const words = users(request);
  return text(`${words.length}: ${words.at(-1)}`);
};

const chat = (more = {}): Parameters<typeof startRig>[0] => ({
  agent: { session: { idleTimeout: '10 minutes' }, ...more },
  script: echo,
});

const idle = (run: RunHandle): Promise<unknown> =>
  eventually(async () => (await run.state()).status === 'idle', 'the run to idle');

test('a session answers each message in turn, and ends with the last answer when told to', async () => {
  rig = await startRig(chat());
  const run = await rig.start({ task: 'one' });
  await idle(run);
  expect(await run.followUp('two')).toMatchObject({ position: 1, turn: 2, reason: 'answered', answer: '2: two' });
  expect(await run.followUp({ text: 'three', id: 'c' })).toMatchObject({ id: 'c', turn: 3, answer: '3: three' });
  expect(await run.state()).toMatchObject({ status: 'idle', phase: 'idle', idleUntil: expect.any(Number) });
  await run.forceFinish();
  expect(await run.result()).toMatchObject({ status: 'stopped', output: '3: three', unconsumedSteering: [] });
});

test('start or continue in one request, with the answer: the first message is the task', async () => {
  rig = await startRig(chat());
  const id = `chat-${randomUUID()}`;
  const one = await rig.client.startWithFollowUp({ agent: rig.agent, id, followUp: 'one' });
  const two = await rig.client.startWithFollowUp({ agent: rig.agent, id, followUp: 'two' });
  expect([one.answer, two.answer]).toEqual(['1: one', '2: two']);
  expect(two.run.id).toBe(id);
  expect(await one.run.messages()).toMatchObject([
    { role: 'user', text: 'one' },
    { role: 'assistant', text: '1: one' },
    { role: 'user', text: 'two' },
    { role: 'assistant', text: '2: two' },
  ]);
  await one.run.forceFinish();
  await one.run.result();
  // The run has ended: a new one takes the message.
  const again = await rig.client.startWithFollowUp({ agent: rig.agent, id, followUp: 'three' });
  expect(again.answer).toBe('1: three');
});

test('start or continue by signal, without an answer to wait for', async () => {
  rig = await startRig(chat());
  const id = `chat-${randomUUID()}`;
  for (const words of ['one', 'two']) {
    await rig.temporal.workflow.signalWithStart('agentRun', {
      taskQueue: rig.taskQueue,
      workflowId: id,
      args: [{ agent: 'tester', task: '' }],
      signal: 'followUp',
      signalArgs: [words],
    });
  }
  const run = rig.client.handle(id);
  await eventually(async () => (await run.state()).turn === 2);
  await idle(run);
  expect((await run.messages()).at(-1)).toMatchObject({ text: '2: two' });
});

test('the session ends when nobody says anything for its idle time', async () => {
  rig = await startRig(chat({ session: { idleTimeout: '1 second' } }));
  const run = await rig.start({ task: 'one' });
  expect(await run.result()).toMatchObject({ status: 'completed', reason: 'answered', output: '1: one' });
  await expect(run.followUp('late')).rejects.toThrow(RunEndedError);
});

test('an idle session costs one timer and writes nothing', async () => {
  rig = await startRig(chat());
  const run = await rig.start({ task: 'one' });
  await idle(run);
  const before = await eventsOf(rig.temporal, run.id);
  await run.state();
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const after = await eventsOf(rig.temporal, run.id);
  expect(after).toHaveLength(before.length);
  expect(after.filter((event) => event.timerStartedEventAttributes)).toHaveLength(1);
});

test('messages that come while it works wait their turn; each gets its own answer', async () => {
  const held = gate();
  rig = await startRig({
    ...chat(),
    script: async (request) => {
      if (users(request).length === 1) await held.promise;
      return echo(request);
    },
  });
  const run = await rig.start({ task: 'one' });
  await eventually(async () => rig.model.requests.length === 1);
  const answers = ['two', 'three', 'four'].map((words) => run.followUp(words));
  await eventually(async () => (await run.state()).queues.followUps === 3);
  held.open();
  const all = await Promise.all(answers);
  expect(all.map((reply) => ('answer' in reply ? reply.answer?.slice(3) : null))).toEqual(['two', 'three', 'four']);
});

test('the same id twice is one message; both who asked get its answer', async () => {
  const held = gate();
  rig = await startRig({
    ...chat(),
    script: async (request) => {
      if (users(request).length === 2) await held.promise;
      return echo(request);
    },
  });
  const run = await rig.start({ task: 'one' });
  await idle(run);
  const [first, second] = [run.followUp({ text: 'two', id: 'm' }), run.followUp({ text: 'two', id: 'm' })];
  await eventually(async () => rig.model.requests.length === 2);
  held.open();
  const answer = { id: 'm', answer: '2: two' };
  expect(await first).toMatchObject(answer);
  expect(await second).toMatchObject(answer);
  expect(await run.followUp({ text: 'two', id: 'm' })).toMatchObject({ position: 0, ...answer });
  expect((await run.state()).turn).toBe(2);
});

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.object({ at: z.number() }),
  effects: 'none',
  execute: ({ at }) => `seen ${at}`,
});

test('a limit of one message ends that message, and the next one starts anew; the conversation stays valid', async () => {
  let looks = 0;
  rig = await startRig({
    agent: { tools: [look], session: { limits: { turns: 2 } } },
    strict: true,
    script: (request) => (users(request).at(-1) === 'search' ? call('look', { at: (looks += 1) }) : echo(request)),
  });
  const run = await rig.start({ task: 'one' });
  await idle(run);
  expect(await run.followUp('search')).toMatchObject({ reason: 'max_turns', answer: null });
  expect(await run.followUp('thanks')).toMatchObject({ reason: 'answered', answer: '3: thanks' });
  expect(looks).toBe(2);
});

test('`state` tells the limits of the open message, and what is left of them', async () => {
  const held = gate();
  rig = await startRig({
    agent: { tools: [look], limits: { turns: 50 }, session: { limits: { turns: 7 } } },
    script: (request) => (users(request).at(-1) === 'wait' ? text('x', { waitFor: held }) : echo(request)),
  });
  const run = await rig.start({ task: 'one' });
  await idle(run);
  expect((await run.state()).limits).toEqual({ turns: { limit: 50, left: 49 } });
  const answer = run.followUp('wait');
  await held.reached;
  expect((await run.state()).limits).toEqual({ turns: { limit: 8, left: 7 } });
  expect(await run.setLimits({ turns: 3 })).toEqual({ turns: { limit: 3, left: 2 } });
  expect(await run.setLimits({ turns: 60 })).toEqual({ turns: { limit: 8, left: 7 } });
  held.open();
  await answer;
});

test('at the limit of one message the agent sums up, where it is to', async () => {
  rig = await startRig({
    agent: { tools: [look], session: { limits: { toolCalls: 1 } }, onLimit: 'summarize' },
    script: (request) => {
      if (users(request).at(-1)?.includes('reached (max_tool_calls)')) return text('Seen one.');
      return users(request).at(-1) === 'search' ? call('look', { at: 1 }) : echo(request);
    },
  });
  const { run, ...reply } = await rig.client.startWithFollowUp({ agent: rig.agent, followUp: 'search' });
  expect(reply).toMatchObject({ reason: 'max_tool_calls', answer: 'Seen one.' });
  expect(await run.followUp('thanks')).toMatchObject({ reason: 'answered' });
});

test('the deadline of one message stops its tool; the session goes on', async () => {
  const slow = defineTool({
    name: 'slow',
    description: 'Takes its time.',
    input: z.object({}),
    effects: 'none',
    execute: (_, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  });
  rig = await startRig({
    agent: { tools: [slow], session: { limits: { duration: '1 second' } } },
    strict: true,
    script: (request) => (users(request).at(-1) === 'wait' ? call('slow', {}) : echo(request)),
  });
  const { run, ...reply } = await rig.client.startWithFollowUp({ agent: rig.agent, followUp: 'wait' });
  expect(reply).toMatchObject({ reason: 'deadline', answer: null });
  expect(await run.followUp('thanks')).toMatchObject({ answer: '2: thanks' });
});

test('the limits of the whole end the session: a message that it cannot take is refused, and is in the result', async () => {
  rig = await startRig(chat({ limits: { turns: 2 } }));
  const run = await rig.start({ task: 'one' });
  await idle(run);
  await run.followUp('two');
  const refused = await run.followUp({ text: 'three', id: 'm3' }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(RunEndedError);
  expect(refused).toMatchObject({ status: 'exhausted', message: expect.stringContaining('max_turns') });
  expect(await run.result()).toMatchObject({
    status: 'exhausted',
    unconsumedSteering: [{ kind: 'followUp', text: 'three', id: 'm3' }],
  });
});

test('a model that fails one message ends that message only; a wrong key ends the session', async () => {
  rig = await startRig({
    agent: { model: { name: 'gpt-5-mini', attempts: 1 }, session: {} },
    script: (request) => {
      if (users(request).at(-1) === 'fail') return httpError(503);
      return users(request).at(-1) === 'lock' ? httpError(401) : echo(request);
    },
  });
  const { run, answer } = await rig.client.startWithFollowUp({ agent: rig.agent, followUp: 'one' });
  expect(answer).toBe('1: one');
  expect(await run.followUp('fail')).toMatchObject({ reason: 'model_unavailable', answer: null });
  expect(await run.followUp('two')).toMatchObject({ reason: 'answered' });
  expect(await run.followUp('lock')).toMatchObject({ reason: 'auth', answer: null });
  expect(await run.result()).toMatchObject({ status: 'failed', reason: 'auth' });
});

test('pause and resume an idle session; steering waits for the next message', async () => {
  rig = await startRig({
    ...chat(),
    script: (request) => text(users(request).join(' | ')),
  });
  const run = await rig.start({ task: 'one' });
  await idle(run);
  expect(await run.pause()).toMatchObject({ status: 'paused' });
  const waiting = run.followUp('two');
  await run.steer('be brief');
  expect(rig.model.requests).toHaveLength(1);
  await run.resume();
  expect(await waiting).toMatchObject({ answer: 'one | two | [STEERING] be brief' });
});

test('cancel ends an idle session at once', async () => {
  rig = await startRig(chat());
  const run = await rig.start({ task: 'one' });
  await idle(run);
  await run.cancel();
  expect(await run.result()).toMatchObject({ status: 'cancelled', turns: 1 });
});

test('force-finish in the middle of a message answers whoever waits, and refuses what is in the queue', async () => {
  const held = gate();
  rig = await startRig({
    agent: { tools: [look], session: {} },
    script: async (request) => {
      if (users(request).at(-1) !== 'long') return echo(request);
      await held.promise;
      return call('look', { at: 1 });
    },
  });
  const { run } = await rig.client.startWithFollowUp({ agent: rig.agent, followUp: 'one' });
  const long = run.followUp('long');
  await eventually(async () => rig.model.requests.length === 2);
  const queued = run.followUp('queued').catch((error: unknown) => error);
  await eventually(async () => (await run.state()).queues.followUps === 1);
  await run.forceFinish({ output: 'That will do.' });
  held.open();
  expect(await long).toMatchObject({ reason: 'force_finished', answer: 'That will do.' });
  expect(await queued).toBeInstanceOf(RunEndedError);
  expect(await run.result()).toMatchObject({ unconsumedSteering: [{ text: 'queued' }] });
});

test('a message that is ended before the model has said anything has no answer: not the one before', async () => {
  const held = gate();
  const hold = defineTool({
    name: 'hold',
    description: 'Holds.',
    input: z.object({}),
    effects: 'none',
    execute: () => held.wait(),
  });
  rig = await startRig({
    agent: { tools: [hold], session: {} },
    script: (request) => (users(request).at(-1) === 'two' ? call('hold') : echo(request)),
  });
  const { run } = await rig.client.startWithFollowUp({ agent: rig.agent, followUp: 'one' });
  const two = run.followUp('two');
  await held.reached;
  await run.forceFinish();
  held.open();
  expect(await two).toMatchObject({ reason: 'force_finished', answer: null });
  expect(await run.result()).toMatchObject({ status: 'stopped', output: '1: one' });
});

test('a session that somebody terminates is not begun anew', async () => {
  const held = gate();
  rig = await startRig({ ...chat(), script: async (request) => (await held.promise, echo(request)) });
  const id = `chat-${randomUUID()}`;
  const asked = rig.client.startWithFollowUp({ agent: rig.agent, id, followUp: 'one' });
  const refused = expect(asked).rejects.toThrow(RunEndedError);
  await eventually(async () => rig.model.requests.length === 1);
  await rig.client.handle(id).temporal.terminate('enough');
  await refused;
  held.open();
  expect((await rig.temporal.workflow.getHandle(id).describe()).status.name).toBe('TERMINATED');
});

test('an agent without a session cannot start without a task, and says so', async () => {
  rig = await startRig({ script: echo });
  const failed = await rig.client
    .startWithFollowUp({ agent: rig.agent, followUp: 'one' })
    .catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(RunEndedError);
  expect(failed).toMatchObject({ status: 'failed' });
});

test('an agent with a session that is called as a tool answers once', async () => {
  const helper = defineAgent({ name: 'helper', instructions: 'Help.', model: 'gpt-5-mini', session: {} });
  const chief = defineAgent({
    name: 'chief',
    instructions: 'Lead.',
    model: 'gpt-5-mini',
    tools: [agentTool(helper, { description: 'Helps.' })],
  });
  rig = await startRig({
    agents: [chief, helper],
    script: ({ messages, body }) => {
      if (body['tools'] === undefined) return text('Helped.');
      return messages.some(({ role }) => role === 'tool') ? text('Done.') : call('helper', { task: 'Help me.' });
    },
  });
  const run = await rig.start({ task: 'Go.' });
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'Done.' });
});

/** The idle timer and a message at the same moment, again and again: each message is answered by one run, once. */
test('messages at the very moment of the end: none vanishes, none is answered twice', async () => {
  rig = await startRig(chat({ session: { idleTimeout: '150 ms' } }));
  const chats = Array.from({ length: 5 }, async (_, n) => {
    const id = `chat-${n}-${randomUUID()}`;
    for (let i = 0; i < 20; i += 1) {
      const { answer, reason } = await rig.client.startWithFollowUp({ agent: rig.agent, id, followUp: `${n}.${i}` });
      expect(reason).toBe('answered');
      expect(answer?.replace(/^\d+: /, '')).toBe(`${n}.${i}`);
      await new Promise((resolve) => setTimeout(resolve, 120 + ((i * 7) % 60)));
    }
  });
  await Promise.all(chats);
  const newest = rig.model.requests.map((request) => users(request).at(-1));
  expect(new Set(newest).size).toBe(100);
  expect(newest).toHaveLength(100);
}, 120_000);
