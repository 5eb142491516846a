/** What a run asks its worker in between is asked by ordinary activities, and shows in the Temporal UI as what it is. */
import { defineTool } from 'everlap';
import { call, text } from 'everlap/testing';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { eventsOf } from '../support/history.js';
import { eventually, startRig, type Rig } from '../support/rig.js';

let rig: Rig;
afterEach(() => rig.stop());

const ran: string[] = [];
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({ usd: z.number() }),
  approval: ({ usd }) => usd > 100,
  execute: ({ usd }) => {
    ran.push(`${usd}`);
    return 'Paid.';
  },
});

test('no local activity, whatever is asked; each has a summary', async () => {
  rig = await startRig({
    agent: { tools: [pay], output: z.object({ paid: z.boolean() }) },
    script: [call('pay', { usd: 7 }), text('{"paid":true}')],
  });
  const run = await rig.start();
  expect(await run.result()).toMatchObject({ status: 'completed', toolCalls: 1 });
  expect(ran).toEqual(['7']);
  const events = await eventsOf(rig.temporal, run.id);
  const markers = events.flatMap((event) => event.markerRecordedEventAttributes?.markerName ?? []);
  expect(markers).not.toContain('core_local_activity');
  const asked = events.flatMap(({ activityTaskScheduledEventAttributes: scheduled, userMetadata }) =>
    scheduled ? [[scheduled.activityType?.name, String(userMetadata?.summary?.data)]] : [],
  );
  expect(asked).toEqual([
    ['describeAgent', '"agent tester"'],
    ['callModel', '"turn 1 · gpt-5-mini"'],
    ['checkCall', '"pay · approval?"'],
    ['tool.pay', '"pay usd=7"'],
    ['callModel', '"turn 2 · gpt-5-mini"'],
    ['checkOutput', '"form of the answer"'],
  ]);
});

const hung = (): Promise<boolean> => new Promise(() => undefined);

test('a check that hangs holds up no cancel', async () => {
  const waits = defineTool({
    name: 'waits',
    description: 'Waits.',
    input: z.object({}),
    approval: hung,
    execute: () => '',
  });
  rig = await startRig({ agent: { tools: [waits] }, script: [call('waits')] });
  const run = await rig.start();
  await eventually(async () => {
    const { raw } = await run.temporal.describe();
    return raw.pendingActivities?.some(({ activityType }) => activityType?.name === 'checkCall');
  }, 'the check');
  await run.cancel();
  expect(await run.result()).toMatchObject({ status: 'cancelled' });
  const events = await eventsOf(rig.temporal, run.id);
  // It was left behind, not waited for.
  expect(events.filter((event) => event.activityTaskTimedOutEventAttributes)).toEqual([]);
});

test.each([
  [undefined, 'checkCall needs { tool, args, call }'],
  [{ tool: 7 }, 'checkCall needs { tool, args, call }'],
  [{ tool: 'pay' }, 'tool.pay needs { args, call: { runId, lap, turn, callId, idempotencyKey } }'],
  [{ tool: 'callModel', args: {}, call: {} }, 'Activity function tool.callModel is not registered on this Worker.'],
])('checkCall of %j is refused with a sentence, and runs nothing', async (input, sentence) => {
  ran.length = 0;
  rig = await startRig({ agent: { tools: [pay] }, script: [] });
  const options = { taskQueue: rig.taskQueue, startToCloseTimeout: '10 seconds', retry: { maximumAttempts: 1 } };
  const asked = rig.temporal.activity.execute('checkCall', { ...options, id: rig.taskQueue, args: [input] });
  await expect(asked).rejects.toMatchObject({ cause: { message: expect.stringContaining(sentence) as unknown } });
  expect(ran).toEqual([]);
});
