/** A result is that of the very run that was waited for, also where another follows it under its id, and over its executions. */
import { randomUUID } from 'node:crypto';
import { Client } from '@temporalio/client';
import { EverlapClient, type RunHandle } from 'everlap/client';
import { call, gate, text } from 'everlap/testing';
import { afterEach, expect, test } from 'vitest';
import { heldTool } from '../support/held-tool.js';
import { eventually, startRig, type Rig, type RigOptions } from '../support/rig.js';

let rig: Rig;
afterEach(() => rig.stop());

const { tool } = heldTool({ free: ['a'] });
const held = gate();

/** Its first run is in its second turn, and held there; whatever comes after it has only begun. */
const IN_THE_MIDDLE: RigOptions = {
  agent: { tools: [tool], session: {} },
  script: ({ messages }) => {
    if (messages.some(({ content }) => content === 'another')) return text('Of another run.');
    return messages.at(-1)?.role === 'tool' ? text('never', { waitFor: held }) : call('work', { name: 'a' });
  },
};

interface Waited {
  readonly run: RunHandle;
  readonly result: ReturnType<RunHandle['result']>;
  /** From now on this waiter asks of a run only after another has followed it. */
  readonly onlyAfter: (follower: Promise<unknown>) => void;
}

/** Waits for the result of a run that has begun. */
async function waitFor(id: string): Promise<Waited> {
  let before: Promise<unknown> = Promise.resolve();
  const asked = gate();
  const temporal = new Client({
    connection: rig.temporal.connection,
    interceptors: {
      workflow: [
        {
          describe: async (input, next) => {
            await before;
            return next(input).finally(() => asked.open());
          },
          query: async (input, next) => {
            await before;
            return next(input);
          },
        },
      ],
    },
  });
  const run = new EverlapClient({ client: temporal }).handle(id);
  const result = run.result();
  await Promise.race([asked.wait(), new Promise((resolve) => setTimeout(resolve, 2000))]);
  return { run, result, onlyAfter: (follower) => (before = follower) };
}

test.each([
  ['cancelled', { status: 'cancelled', reason: 'cancelled', turns: 1, toolCalls: 1 }],
  ['terminated', { status: 'failed', reason: 'internal', turns: 1, toolCalls: 1 }],
] as const)('of a run that was %s, with another one under its id already', async (how, expected) => {
  rig = await startRig(IN_THE_MIDDLE);
  const id = `followed-${randomUUID()}`;
  await rig.start({ id });
  await eventually(async () => (await rig.client.handle(id).state()).toolCalls === 1, 'its tool call');
  const { result, onlyAfter } = await waitFor(id);
  const followed = gate();
  onlyAfter(followed.wait());
  const { temporal } = rig.client.handle(id);
  await (how === 'cancelled' ? temporal.cancel() : temporal.terminate('Enough.'));
  await eventually(async () => (await temporal.describe()).closeTime !== undefined, 'its end');
  const { answer } = await rig.client.startWithFollowUp({ agent: rig.agent, id, followUp: 'another' });
  expect(answer).toBe('Of another run.');
  followed.open();
  expect(await result).toMatchObject(expected);
});

test('of a run that is reset meanwhile: it goes on in the execution that the reset made', async () => {
  rig = await startRig({
    agent: { tools: [tool] },
    script: (_, n) => {
      if (n === 0) return call('work', { name: 'a' });
      return n === 1 ? text('never', { waitFor: held }) : text('At last.');
    },
  });
  const { id, temporal } = await rig.start();
  await eventually(async () => rig.model.requests.length === 2, 'the second model call');
  const { result } = await waitFor(id);
  const { runId } = await temporal.describe();
  const { events } = await temporal.fetchHistory();
  const completed = events?.filter((event) => event.workflowTaskCompletedEventAttributes) ?? [];
  await rig.temporal.workflowService.resetWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId: id, runId },
    reason: 'Try again.',
    workflowTaskFinishEventId: completed.at(-1)?.eventId ?? null,
    requestId: randomUUID(),
  });
  expect(await result).toMatchObject({ status: 'completed', output: 'At last.' });
});

test('of a run that a retry policy starts again: that of the execution which ends it', async () => {
  rig = await startRig({ startWorker: false, script: () => text('At a later try.') });
  const run = await rig.start({
    workflow: {
      workflowRunTimeout: '3 seconds',
      retry: { maximumAttempts: 100, initialInterval: 100, backoffCoefficient: 1 },
    },
  });
  const { result } = await waitFor(run.id);
  const { runId } = await run.temporal.describe();
  await eventually(async () => (await run.temporal.describe()).runId !== runId, 'the second execution');
  await rig.startWorker();
  expect(await result).toMatchObject({ status: 'completed', output: 'At a later try.' });
});
