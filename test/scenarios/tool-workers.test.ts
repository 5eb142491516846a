/** Tools and the workers that run them: deploys that remove one, local activities, what a tool is told, signs of life. */
import { join } from 'node:path';
import { NativeConnection, Worker } from '@temporalio/worker';
import { defineAgent, defineTool, type ToolContext, type ToolDefinition, type ToolOptions } from 'everlap';
import { call, calls, gate, text, type RecordedRequest } from 'everlap/testing';
import { EverlapPlugin, openaiChat } from 'everlap/worker';
import { afterEach, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { containing } from '../support/cases.js';
import { eventsOf } from '../support/history.js';
import { eventually, startRig, type Rig, type RunningWorker } from '../support/rig.js';

let rig: Rig;
const connections: NativeConnection[] = [];
afterEach(async () => {
  await rig.stop();
  await Promise.all(connections.splice(0).map((connection) => connection.close()));
});

async function workerWith(...tools: readonly ToolDefinition[]): Promise<RunningWorker> {
  const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
  connections.push(connection);
  const agents = [defineAgent({ name: 'tester', instructions: 'You are being tested.', model: 'gpt-5-mini', tools })];
  return rig.startWorker({ connection, agents });
}

const of =
  (
    options: Partial<Pick<ToolOptions<z.ZodObject>, 'effects' | 'execution' | 'concurrency' | 'approval'>>,
    timeout?: number,
  ) =>
  (name: string, execute: (context: ToolContext) => unknown) =>
    defineTool({
      name,
      description: `The tool ${name}.`,
      input: z.object({ n: z.number().optional() }),
      ...options,
      ...(timeout !== undefined && { timeout }),
      execute: (_, context) => execute(context),
    });

const removed: Record<string, Parameters<typeof of>[0]> = {
  once: {},
  idempotent: { effects: 'idempotent' },
  none: { effects: 'none' },
  local: { effects: 'none', execution: 'local' },
  'one that a function approves': { effects: 'none', approval: () => false },
};

test('a question about a tool that comes to a worker without it is asked again, until one has it', async () => {
  const hold = gate();
  const pay = of({ approval: () => false })('pay', () => 'paid');
  rig = await startRig({
    startWorker: false,
    script: ({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? text('Done.') : call('pay', {}, { waitFor: hold }),
  });
  const first = await workerWith(pay);
  const run = await rig.start();
  await hold.reached;
  await first.stop();
  const without = await workerWith();
  hold.open();
  await eventually(async () => {
    const events = await eventsOf(rig.temporal, run.id);
    return events.some(({ activityTaskFailedEventAttributes: failed }) =>
      failed?.failure?.message?.includes('tool.pay'),
    );
  }, 'an answer that it is not there');
  await without.stop();
  await workerWith(pay);
  await run.result();
  expect((await run.messages())[2]).toMatchObject({ role: 'tool', text: 'paid' });
});

describe('a tool that a deploy has removed', () => {
  test.each(Object.keys(removed))('%s: a result text, after a bounded time', async (kind) => {
    const hold = gate();
    const kept = of({ effects: 'none' })('kept', () => 'still here');
    const gone = of(removed[kind] ?? {})('gone', () => 'never');
    const both = calls([
      { name: 'gone', arguments: {} },
      { name: 'kept', arguments: {} },
    ]);
    rig = await startRig({
      startWorker: false,
      script: ({ messages }) => {
        const results = messages.filter(({ role }) => role === 'tool').length;
        return [call('kept'), { ...both, waitFor: hold }, undefined, text('Done.')][results];
      },
    });
    const first = await workerWith(kept, gone);
    const run = await rig.start();
    await hold.reached;
    await first.stop();
    await workerWith(kept);
    hold.open();
    expect(await run.result()).toMatchObject({ status: 'completed', output: 'Done.' });
    const results = (await run.messages()).filter((message) => message.role === 'tool').slice(1);
    expect(results).toEqual([
      {
        role: 'tool',
        callId: expect.any(String) as unknown,
        name: 'gone',
        isError: true,
        text: 'Error: the tool gone is not there any more: no worker knows it. Go on without it.',
      },
      { role: 'tool', callId: expect.any(String) as unknown, name: 'kept', text: 'still here' },
    ]);
  });
});

describe('the plugin in a worker that has activities of its own', () => {
  const own = { double: async (n: number) => 2 * n };
  const rest = { ...own, default: async (...input: unknown[]) => `rest ${input.join()}` };

  async function teamWorker(activities: object, ...tools: readonly ToolDefinition[]): Promise<Worker> {
    const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
    connections.push(connection);
    const agent = defineAgent({ name: 'tester', instructions: 'You are being tested.', model: 'gpt-5-mini', tools });
    const provider = openaiChat({ baseUrl: rig.model.baseUrl, apiKey: 'scripted' });
    const workspaces = join(rig.folder, 'workspaces');
    const plugins = [new EverlapPlugin({ agents: [agent], provider, workspaces })];
    return Worker.create({ connection, taskQueue: rig.taskQueue, plugins, activities });
  }

  test.each([
    ['none by default', own, 'Error: the tool gone is not there any more: no worker knows it. Go on without it.'],
    ['one by default', rest, 'Error: gone answered with something that is no result'],
  ])('%s: a removed local tool is a result text', async (_, activities, told) => {
    const hold = gate();
    const gone = of({ effects: 'none', execution: 'local' })('gone', () => 'never');
    const script = ({ messages }: RecordedRequest) =>
      messages.some(({ role }) => role === 'tool') ? text('Done.') : { ...call('gone'), waitFor: hold };
    rig = await startRig({ startWorker: false, script });
    const first = await teamWorker(activities, gone);
    const running = first.run();
    const run = await rig.start();
    await hold.reached;
    first.shutdown();
    await running;
    const second = await teamWorker(activities);
    await second.runUntil(async () => {
      hold.open();
      expect(await run.result()).toMatchObject({ status: 'completed', output: 'Done.' });
      expect((await run.messages())[2]).toMatchObject({ role: 'tool', isError: true, text: told });
    });
  });

  test.each([
    ['none by default', own, { type: 'NotFoundError', message: containing('other is not registered on this Worker') }],
    ['one by default', rest, undefined],
  ])('%s: its own activities are called as before', async (_, activities, refused) => {
    rig = await startRig({ startWorker: false, script: [] });
    const worker = await teamWorker(activities);
    const options = { taskQueue: rig.taskQueue, startToCloseTimeout: '10 seconds', retry: { maximumAttempts: 1 } };
    const ask = (type: string, n: number) =>
      rig.temporal.activity.execute(type, { ...options, id: `${rig.taskQueue}-${type}`, args: [n] });
    await worker.runUntil(async () => {
      expect(await ask('double', 2)).toBe(4);
      if (refused === undefined) expect(await ask('other', 3)).toBe('rest 3');
      else await expect(ask('other', 3)).rejects.toMatchObject({ cause: refused });
    });
  });
});

describe('execution: local', () => {
  const local = of({ effects: 'none', execution: 'local' }, 400);

  test('is a marker in history, and no scheduled activity of its own', async () => {
    const quick = local('quick', ({ attempt, workspace }) => `attempt ${attempt} in ${workspace}`);
    rig = await startRig({ agent: { tools: [quick] }, script: [call('quick'), text('Done.')] });
    const run = await rig.start();
    await run.result();
    const events = await eventsOf(rig.temporal, run.id);
    const scheduled = events.flatMap((event) => event.activityTaskScheduledEventAttributes?.activityType?.name ?? []);
    expect(scheduled).toEqual(['describeAgent', 'callModel', 'callModel']);
    const markers = events.filter((event) => event.markerRecordedEventAttributes);
    expect(markers.some((event) => JSON.stringify(event).includes('core_local_activity'))).toBe(true);
    expect((await run.messages())[2]?.text).toMatch(/^attempt 1 in \/.*tester-/);
  });

  test('errors and timeouts are results; neighbours run together', async () => {
    let count = 0;
    const tools = [
      local('throws', () => {
        throw new Error(`no (${(count += 1)})`);
      }),
      local('hangs', () => new Promise(() => undefined)),
      local('works', () => 'yes'),
    ];
    rig = await startRig({
      agent: { tools },
      script: [calls(tools.map(({ name }) => ({ name, arguments: {} }))), text('Done.')],
    });
    const run = await rig.start();
    expect(await run.result()).toMatchObject({ status: 'completed', toolCalls: 3 });
    expect((await run.messages()).filter(({ role }) => role === 'tool')).toMatchObject([
      { isError: true, text: 'Error: no (3)' },
      { isError: true, text: containing('Error: it took ') },
      { text: 'yes' },
    ]);
  });

  test.each(['the run', 'its deadline'])('is cancelled with %s', async (end) => {
    const reached = gate();
    const seen: unknown[] = [];
    const hangs = of({ effects: 'none', execution: 'local' })('hangs', ({ signal }) => {
      void reached.wait();
      return new Promise((_, reject) =>
        signal.addEventListener('abort', () => {
          seen.push(signal.reason);
          reject(new Error('stopped'));
        }),
      );
    });
    rig = await startRig({ agent: { tools: [hangs] }, script: [call('hangs')] });
    // It holds the workflow task, and what comes is taken in when most of that task's time is over: sooner than its own.
    const run = await rig.start({ workflow: { workflowTaskTimeout: '3 seconds' } });
    await reached.reached;
    if (end === 'the run') await run.cancel();
    else await run.setLimits({ duration: 1 });
    expect((await run.result()).reason).toBe(end === 'the run' ? 'cancelled' : 'deadline');
    await eventually(async () => Promise.resolve(seen.length === 1), 'the abort');
    expect((await run.messages())[2]).toMatchObject({
      role: 'tool',
      text: containing('Stopped or not run: the '),
    });
  });
});

describe('what a tool is told', () => {
  test('who calls, which attempt, where its files are; the key tells calls apart', async () => {
    const told: ToolContext[] = [];
    const listens = of({})('listens', (context) => void told.push(context));
    const again = of({ effects: 'none' })('again', (context) => {
      told.push(context);
      if (context.attempt === 1) throw new Error('once more');
      return 'ok';
    });
    rig = await startRig({
      agent: { tools: [listens, again] },
      script: [
        calls([
          { name: 'listens', arguments: { n: 1 }, id: 'a' },
          { name: 'listens', arguments: { n: 1 }, id: 'b' },
        ]),
        call('again', { n: 1 }, { id: 'c' }),
        text('Done.'),
      ],
    });
    const run = await rig.start({ id: `told/${rig.taskQueue}` });
    await run.result();
    const [a, b, c, again2] = [...told].sort(
      (x, y) => x.call.turn - y.call.turn || (x.call.callId < y.call.callId ? -1 : 1),
    );
    expect(a?.call).toMatchObject({ runId: run.id, lap: 1, turn: 1, callId: 'a', idempotencyKey: a?.idempotencyKey });
    expect(a?.idempotencyKey).toMatch(new RegExp(`^told/${rig.taskQueue}/1/1/0/[0-9a-f]{16}$`));
    expect(b?.idempotencyKey).toMatch(/\/1\/1\/1\/[0-9a-f]{16}$/);
    expect([c?.attempt, again2?.attempt]).toEqual([1, 2]);
    expect(again2?.idempotencyKey).toBe(c?.idempotencyKey);
    expect(a?.workspace).toBe(c?.workspace);
    expect(a?.workspace.startsWith(rig.folder)).toBe(true);
    expect(a?.signal.aborted).toBe(false);
  });

  test('its notes are heartbeat details, cut; no note is needed to stay alive', async () => {
    const hold = gate();
    const talks = of({ effects: 'none' })('talks', async ({ heartbeat }) => {
      heartbeat('x'.repeat(100_000));
      heartbeat();
      heartbeat('half way, 50 %');
      await hold.wait();
      heartbeat('never seen');
      return 'ok';
    });
    rig = await startRig({
      agent: { tools: [talks], heartbeatTimeout: '1 second' },
      script: [call('talks'), text('Done.')],
    });
    const run = await rig.start();
    await hold.reached;
    const details = await eventually(async () => {
      const { raw } = await run.temporal.describe();
      const [payload] = raw.pendingActivities?.[0]?.heartbeatDetails?.payloads ?? [];
      return payload?.data && Buffer.from(payload.data).toString('utf8');
    }, 'a heartbeat with a note');
    expect(details).toBe('"half way, 50 %"');
    // Longer than the heartbeat timeout, without a word of the tool.
    await new Promise((resolve) => setTimeout(resolve, 2500));
    hold.open();
    await run.result();
    expect((await run.messages())[2]).toMatchObject({ text: 'ok' });
  });
});
