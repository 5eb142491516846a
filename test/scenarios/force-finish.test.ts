/** Force-finish while a model is asked: no further attempt, the answer under way is taken. And why, told to those who read it. */
import { agentTool, askHuman, defineAgent, defineTool } from 'everlap';
import type { AgentEvent, RunHandle } from 'everlap/client';
import { call, gate, httpError, text, textOf, type RecordedRequest, type Step } from 'everlap/testing';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { validMessages } from '../support/conversation.js';
import { heldTool } from '../support/held-tool.js';
import { eventsOf } from '../support/history.js';
import { eventually, startRig, type Rig } from '../support/rig.js';

let rig: Rig;
afterEach(() => rig.stop());

/** The attempt has failed, and the server waits before the next one. */
async function inRetryWait(run: RunHandle): Promise<void> {
  await eventually(async () => {
    const { raw } = await run.temporal.describe();
    return raw.pendingActivities?.some(({ attempt, state }) => attempt === 2 && state === 1);
  }, 'a wait for the next attempt');
}
const HOURS = { 'retry-after': '7200' };

test('while the next attempt is waited for, for hours: it ends at once, and no attempt follows', async () => {
  rig = await startRig({ script: [httpError(429, { headers: HOURS })] });
  const run = await rig.start();
  await inRetryWait(run);
  await run.forceFinish({ output: 'By hand.' });
  expect(await run.result()).toMatchObject({
    status: 'stopped',
    reason: 'force_finished',
    output: 'By hand.',
    turns: 0,
  });
  expect(rig.model.requests).toHaveLength(1);
  await validMessages(run);
});

test('while the conversation is compacted, and its summary is waited for: it ends at once', async () => {
  const page = defineTool({
    name: 'page',
    description: 'Reads a page.',
    input: z.object({ n: z.number() }),
    effects: 'none',
    execute: ({ n }) => `${n}:`.padEnd(4000, 'x'),
  });
  const wantsSummary = ({ messages }: RecordedRequest): boolean =>
    textOf(messages[0]).startsWith('You write the summary');
  rig = await startRig({
    agent: { tools: [page], context: { window: 5000, keepTurns: 1 } },
    script: (request): Step =>
      wantsSummary(request) ? httpError(429, { headers: HOURS }) : call('page', { n: request.index }),
  });
  const run = await rig.start();
  await eventually(async () => rig.model.requests.some(wantsSummary), 'the summary');
  await inRetryWait(run);
  await run.forceFinish();
  expect(await run.result()).toMatchObject({ status: 'stopped', reason: 'force_finished' });
  expect(rig.model.requests.filter(wantsSummary)).toHaveLength(1);
  await validMessages(run);
});

test('while an attempt is under way that fails: no other attempt, and no other model', async () => {
  const held = gate();
  rig = await startRig({
    agent: { model: { name: 'gpt-5-mini', attempts: 5 }, fallbackModels: ['gpt-4.1-mini'] },
    script: [httpError(503, { waitFor: held })],
  });
  const run = await rig.start();
  await held.reached;
  await run.forceFinish();
  await isAskedToStop(run);
  held.open();
  expect(await run.result()).toMatchObject({ status: 'stopped', reason: 'force_finished', turns: 0 });
  expect(rig.model.requests).toHaveLength(1);
});

/** The server has the cancel that keeps further attempts from being made. */
async function isAskedToStop(run: RunHandle): Promise<void> {
  await eventually(async () => {
    const events = await eventsOf(rig.temporal, run.id);
    return events.some((event) => event.activityTaskCancelRequestedEventAttributes);
  }, 'the end of retries');
}

const streaming = () => {
  const held = gate();
  return {
    held,
    step: text('A long answer that takes its time.', { pieceChars: 4, holdAfter: { chunks: 3, until: held } }),
  };
};

test('in mid-stream: the answer is taken whole', async () => {
  const { held, step } = streaming();
  rig = await startRig({ script: [step] });
  const run = await rig.start();
  await held.reached;
  await run.forceFinish();
  await isAskedToStop(run);
  // As long as the worker asks whether it is to stop, and longer.
  await new Promise((resolve) => setTimeout(resolve, 5000));
  held.open();
  expect(await run.result()).toMatchObject({
    status: 'stopped',
    reason: 'force_finished',
    output: 'A long answer that takes its time.',
    turns: 1,
  });
  expect((await run.result()).usage.input).toBeGreaterThan(0);
});

test.each(['cancel', 'deadline'] as const)('in mid-stream, then %s: the connection is closed', async (how) => {
  const { held, step } = streaming();
  rig = await startRig({ script: [step] });
  const run = await rig.start();
  await held.reached;
  await run.forceFinish({ output: 'By hand.' });
  await isAskedToStop(run);
  if (how === 'cancel') await run.cancel();
  else await run.setLimits({ duration: 1 });
  expect(await run.result()).toMatchObject(
    how === 'cancel' ? { status: 'cancelled', output: null } : { reason: 'force_finished', output: 'By hand.' },
  );
  expect((await rig.model.waitForClosed(0)).closed).toBe('by client');
});

test('its reason is in the state at once, in the result, and in the last event; long ones are cut there', async () => {
  const work = heldTool();
  rig = await startRig({ agent: { tools: [work.tool] }, script: [call('work', { name: 'a' })] });
  const run = await rig.start();
  await work.gate.reached;
  expect((await run.state()).forceFinish).toBeUndefined();
  const reason = `Budget is spent. ${'x'.repeat(3000)}`;
  await run.forceFinish({ reason });
  await run.forceFinish({ reason: 'Another one.' });
  expect((await run.state()).forceFinish?.reason).toBe(reason.slice(0, 2000));
  work.gate.open();
  const result = await run.result();
  expect(result.forceFinishReason).toMatch(/^Budget is spent\. x+\n\[… \d+ characters left out …\]/);
  const seen: AgentEvent[] = [];
  for await (const event of run.events()) seen.push(event);
  expect(seen.at(-1)).toMatchObject({ type: 'ended', result: { forceFinishReason: result.forceFinishReason } });
  expect(seen).toContainEqual(expect.objectContaining({ type: 'force_finish_requested', reason }));
});

test('without a reason there is none; a run that ends otherwise has none', async () => {
  const held = gate();
  rig = await startRig({ script: [text('One.', { waitFor: held })] });
  const run = await rig.start();
  await held.reached;
  await run.forceFinish();
  expect((await run.state()).forceFinish).toEqual({});
  held.open();
  expect(await run.result()).not.toHaveProperty('forceFinishReason');
});

test('it goes down with its reason, and comes back up with a child’s own', async () => {
  const work = heldTool();
  const clerk = defineAgent({
    name: 'clerk',
    instructions: 'You work.',
    model: 'gpt-5-mini',
    tools: [work.tool, askHuman()],
  });
  const clerks = agentTool(clerk, { description: 'Works.' });
  const chief = defineAgent({ name: 'chief', instructions: 'You lead.', model: 'gpt-5-mini', tools: [clerks] });
  rig = await startRig({
    agents: [chief],
    byTask: {
      'Do it.': [call('clerk', { task: 'One.' }), call('clerk', { task: 'Two.' })],
      'One.': [call('work', { name: 'a' })],
      'Two.': [call('ask_human', { question: 'Well?' })],
    },
  });
  const run = await rig.start();
  const child = (n: number): Promise<RunHandle> =>
    eventually(async () => {
      const events = await eventsOf(rig.temporal, run.id);
      const ids = events.flatMap(
        (event) => event.startChildWorkflowExecutionInitiatedEventAttributes?.workflowId ?? [],
      );
      return ids[n] !== undefined && rig.client.handle(ids[n]);
    });
  await eventually(async () => work.ran.length === 1);
  await (await child(0)).forceFinish({ reason: 'Not needed any more.' });
  work.gate.open();
  await eventually(async () => (await run.state()).pendingCount === 1, 'the question');
  const [result] = (await run.messages()).filter(({ role }) => role === 'tool');
  expect(result?.text).toMatch(/^The agent clerk was told to finish .*: Not needed any more\./);
  await run.forceFinish({ reason: 'Closing time.' });
  await run.result();
  expect(await (await child(1)).result()).toMatchObject({
    forceFinishReason: 'The run that called it was told to finish: Closing time.',
  });
});
