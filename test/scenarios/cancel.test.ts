/** SCENARIO 14: cancel, wherever a run is: it ends as `cancelled`, at once, with a valid conversation. */
import { calls, call, gate, hangUp, httpError, text } from 'everlap/testing';
import type { AgentResult } from 'everlap';
import { RunEndedError, type RunHandle } from 'everlap/client';
import { afterEach, expect, test } from 'vitest';
import { validMessages } from '../support/conversation.js';
import { heldTool } from '../support/held-tool.js';
import { eventually, startRig, type Rig } from '../support/rig.js';

let rig: Rig;
afterEach(() => rig.stop());

async function cancelled(run: RunHandle): Promise<AgentResult> {
  await run.cancel();
  const result = await run.result();
  expect(result).toMatchObject({ status: 'cancelled', reason: 'cancelled', output: null, unconsumedSteering: [] });
  expect((await run.temporal.describe()).status.name).toBe('CANCELLED');
  expect(await run.state()).toMatchObject({ status: 'cancelled', reason: 'cancelled', phase: 'ended' });
  await validMessages(run);
  return result;
}

test.each([
  ['before the first byte', { waitFor: gate() }],
  ['in mid-stream', { holdAfter: { chunks: 2, until: gate() } }],
])('while the model answers, %s: the connection is closed', async (_, timing) => {
  rig = await startRig({ script: [text('A long answer, never to be seen.', timing)] });
  const run = await rig.start();
  await ('waitFor' in timing ? timing.waitFor : timing.holdAfter.until).reached;
  expect(await cancelled(run)).toMatchObject({ turns: 0 });
  expect((await rig.model.waitForClosed(0)).closed).toBe('by client');
});

test('in the middle of tools: they see ctx.signal; what was done stays, the others say why they were not', async () => {
  const work = heldTool({ free: ['a'] });
  const later = heldTool({ name: 'later', concurrency: 'serial' });
  rig = await startRig({
    agent: { tools: [work.tool, later.tool] },
    script: [
      calls([
        { name: 'work', arguments: { name: 'a' } },
        { name: 'work', arguments: { name: 'b' } },
        { name: 'later', arguments: { name: 'c' } },
      ]),
    ],
  });
  const run = await rig.start();
  await work.gate.reached;
  expect(await cancelled(run)).toMatchObject({ turns: 1 });
  await eventually(async () => work.aborted.includes('b'), 'b saw its signal');
  expect(later.ran).toEqual([]);
  expect((await run.messages()).slice(-3)).toMatchObject([
    { text: 'a is done' },
    { text: expect.stringMatching(/cancelled/) as string, isError: true },
    { text: expect.stringMatching(/cancelled/) as string, isError: true },
  ]);
});

test('a tool that ignores its signal does not hold up the end', async () => {
  const held = gate();
  const deaf = heldTool({
    execute: async () => {
      await held.wait();
      return 'too late';
    },
  });
  rig = await startRig({ agent: { tools: [deaf.tool] }, script: [call('work', { name: 'a' })] });
  const run = await rig.start();
  await held.reached;
  await cancelled(run);
  held.open();
});

test.each([
  ['before the tools', 1],
  ['before the first turn', 0],
])('while paused, %s', async (_, turns) => {
  const held = gate();
  const { tool, ran } = heldTool({ free: ['a'] });
  rig = await startRig({
    startWorker: false,
    agent: { tools: [tool] },
    script: [call('work', { name: 'a' }, { waitFor: held })].slice(0, turns),
  });
  const run = await rig.start();
  let pausing: Promise<unknown> | undefined;
  if (turns === 0) pausing = run.pause();
  await rig.startWorker();
  if (turns === 1) {
    await held.reached;
    pausing = run.pause();
    held.open();
  }
  await pausing;
  expect(await cancelled(run)).toMatchObject({ turns });
  expect(ran).toEqual([]);
});

test.each([
  ['Retry-After of an hour', httpError(429, { headers: { 'retry-after': '3600' } })],
  ['a backoff', hangUp()],
])('while it waits for a retry: %s', async (_, step) => {
  rig = await startRig({
    agent: { model: { name: 'gpt-5-mini', attempts: 100 } },
    script: () => step,
  });
  const run = await rig.start();
  await rig.model.waitForClosed(step.kind === 'raw' ? 0 : 2);
  expect(await cancelled(run)).toMatchObject({ turns: 0 });
});

test('before the first turn: with the start, with no worker up', async () => {
  rig = await startRig({ startWorker: false, script: [] });
  const run = await rig.start();
  await run.cancel();
  await rig.startWorker();
  expect(await run.result()).toMatchObject({ status: 'cancelled', turns: 0 });
  expect(rig.model.requests).toHaveLength(0);
});

test('what was accepted and not said is in the result, which is there with no worker up any more', async () => {
  const held = gate();
  rig = await startRig({ startWorker: false, script: [text('x', { waitFor: held })] });
  const worker = await rig.startWorker();
  const run = await rig.start();
  await held.reached;
  await run.steer({ text: 'Look at c.', id: 'c' });
  await run.followUp('Then d. 漢字');
  await run.cancel();
  const ended: unknown = await run.temporal.result().catch((error: unknown) => error);
  expect(ended).toMatchObject({ name: 'WorkflowFailedError' });
  await worker.stop();
  expect(await run.result()).toEqual({
    status: 'cancelled',
    reason: 'cancelled',
    output: null,
    turns: 0,
    laps: 1,
    toolCalls: 0,
    usage: { input: 0, output: 0 },
    costUsd: 0,
    unconsumedSteering: [
      { kind: 'steer', text: 'Look at c.', id: 'c' },
      { kind: 'followUp', text: 'Then d. 漢字' },
    ],
  });
});

test('twice, and after a force-finish: once is enough, the first to be taken counts', async () => {
  const work = heldTool();
  rig = await startRig({ agent: { tools: [work.tool] }, script: [call('work', { name: 'a' })] });
  const run = await rig.start();
  await work.gate.reached;
  await run.forceFinish({ output: 'By hand.' });
  await run.cancel();
  await run.cancel();
  expect(await run.result()).toMatchObject({ status: 'cancelled', output: null, turns: 1 });
  await validMessages(run);
});

test('that races with the end: cancelled or completed, and the result says the same as Temporal', async () => {
  const tasks = Array.from({ length: 12 }, (_, index) => `task ${index}.`);
  const { tool } = heldTool({ free: ['a'] });
  rig = await startRig({
    agent: { tools: [tool] },
    byTask: Object.fromEntries(
      tasks.map((task) => [
        task,
        ({ messages }) => (messages.length > 2 ? text('Done.') : call('work', { name: 'a' })),
      ]),
    ),
  });
  const seen = await Promise.all(
    tasks.map(async (task, index) => {
      const run = await rig.start({ task });
      await eventually(async () => {
        const { status, turn } = await run.state();
        return turn >= index % 3 || status !== 'running';
      });
      await run.cancel().catch((error: unknown) => expect(error).toBeInstanceOf(RunEndedError));
      const { status } = await run.result();
      await validMessages(run);
      return [status, (await run.temporal.describe()).status.name];
    }),
  );
  for (const pair of seen) {
    expect([
      ['cancelled', 'CANCELLED'],
      ['completed', 'COMPLETED'],
    ]).toContainEqual(pair);
  }
});

test('terminated from outside: a result all the same, which says so', async () => {
  const held = gate();
  rig = await startRig({ script: [text('x', { waitFor: held })] });
  const run = await rig.start();
  await held.reached;
  await run.temporal.terminate('lunch');
  expect(await run.result()).toMatchObject({
    status: 'failed',
    reason: 'internal',
    output: null,
    error: expect.stringMatching(/ended from outside: .*lunch/) as string,
  });
});
