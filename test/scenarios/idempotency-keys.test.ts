/** A call's idempotency key: the same after a reset, another in every other run. */
import { randomUUID } from 'node:crypto';
import { defineTool } from 'everlap';
import { call, text } from 'everlap/testing';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { eventsOf } from '../support/history.js';
import { eventually, startRig, type Rig } from '../support/rig.js';

let rig: Rig;
afterEach(() => rig.stop());

async function rigThatPays(): Promise<string[]> {
  const keys: string[] = [];
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({ usd: z.number() }),
    execute: (_, { idempotencyKey }) => void keys.push(idempotencyKey),
  });
  rig = await startRig({
    agent: { tools: [pay] },
    script: ({ messages }) => (messages.length > 2 ? text('Paid.') : call('pay', { usd: 5 })),
  });
  return keys;
}

test('a later run of the same id has other keys at the same place', async () => {
  const keys = await rigThatPays();
  const id = `customer-${randomUUID()}`;
  for (const _ of [1, 2]) await (await rig.start({ id })).result();
  const [first, second] = keys;
  expect(first).toMatch(new RegExp(`^${id}/1/1/0/[0-9a-f]{16}$`));
  expect(second).toMatch(new RegExp(`^${id}/1/1/0/[0-9a-f]{16}$`));
  expect(second).not.toBe(first);
});

test('a run that is reset to before the call has the same key', async () => {
  const keys = await rigThatPays();
  const run = await rig.start();
  await run.result();
  const events = await eventsOf(rig.temporal, run.id);
  const scheduled = events.find(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'tool.pay',
  );
  const { runId } = await run.temporal.describe();
  await rig.temporal.workflowService.resetWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId: run.id, runId },
    reason: 'a test',
    requestId: randomUUID(),
    workflowTaskFinishEventId: scheduled?.activityTaskScheduledEventAttributes?.workflowTaskCompletedEventId ?? null,
  });
  await eventually(async () => keys.length === 2, 'the second payment');
  expect(keys[1]).toBe(keys[0]);
  await run.result();
});
