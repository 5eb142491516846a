/** Approvals in long runs: rules and decided ids over continue-as-new, waiting calls around it, and compaction. */
import { defineTool, type AgentOptions } from 'everlap';
import type { RunHandle } from 'everlap/client';
import { call, text, textOf, type RecordedRequest, type Script, type Step } from 'everlap/testing';
import { everlapBundle } from 'everlap/worker';
import { Worker } from '@temporalio/worker';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { startDevServer, type DevServer } from '../../src/dev/dev-server.js';
import { validMessages } from '../support/conversation.js';
import { eventsOf, executionsOf } from '../support/history.js';
import { eventually, startRig, type Rig } from '../support/rig.js';

let server: DevServer;
let rig: Rig;
let paid: number[];
beforeAll(async () => {
  // A turn has some 12 events: a new execution every turn or two.
  server = await startDevServer({ dynamicConfig: ['limit.historyCount.suggestContinueAsNew=15'] });
});
beforeEach(() => {
  paid = [];
});
afterEach(() => rig.stop());
afterAll(() => server.stop());

const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({ n: z.number(), to: z.string().optional() }),
  approval: 'always',
  execute: ({ n }) => {
    paid.push(n);
    return `paid ${n} ${'x'.repeat(2000)}`;
  },
});
const nap = defineTool({
  name: 'nap',
  description: 'Takes a while.',
  input: z.object({ ms: z.number() }),
  effects: 'none',
  execute: ({ ms }) => new Promise((resolve) => setTimeout(() => resolve('slept'), ms)),
});

const turnOf = ({ messages }: RecordedRequest): number =>
  messages.filter(({ role }) => role === 'assistant').length + 1;
/** By the turn, so that it does not matter who asks how often. */
const byTurn =
  (...steps: readonly Step[]): Script =>
  (request) =>
    steps[turnOf(request) - 1] ?? text('Done.');
const payment = (n: number, to = 'us'): Step => call('pay', { n, to }, { id: `pay_${n}` });

async function start(script: Script, agent: Partial<AgentOptions> = {}): Promise<RunHandle> {
  rig = await startRig({ address: server.address, script, agent: { tools: [pay, nap], ...agent } });
  return rig.start();
}

async function waiting(run: RunHandle, callId: string): Promise<void> {
  await eventually(async () => (await run.state()).pending.some((one) => one.callId === callId), callId);
}

/** Every execution replays. */
async function replays(run: RunHandle): Promise<void> {
  for (const execution of await executionsOf(rig.temporal, run.id)) {
    const history = await rig.temporal.workflow.getHandle(run.id, execution).fetchHistory();
    await Worker.runReplayHistory({ workflowBundle: everlapBundle() }, history, run.id);
  }
}

test('a rule with a number of uses and a pattern: used up over several executions, then a person is asked again', async () => {
  const run = await start(byTurn(payment(1), payment(2), payment(3, 'them'), payment(4), payment(5), payment(6)));
  await waiting(run, 'pay_1');
  await run.approve({ callId: 'pay_1', remember: { args: { to: 'u*' }, uses: 3 } });
  // Another one is paid: the rule does not know them, and is not used.
  await waiting(run, 'pay_3');
  expect(paid).toEqual([1, 2]);
  await run.approve('pay_3');
  await waiting(run, 'pay_6');
  expect(paid).toEqual([1, 2, 3, 4, 5]);
  const executions = (await executionsOf(rig.temporal, run.id)).length;
  expect(executions).toBeGreaterThan(2);
  // What was decided in an execution that is long gone is decided still.
  await expect(run.approve('pay_1')).rejects.toThrow(/decided or closed already/);
  await run.deny('pay_6');
  expect(await run.result()).toMatchObject({ status: 'completed', toolCalls: 5 });
  await validMessages(run);
  await replays(run);
}, 120_000);

test('a rule with a time ends when it is over, in whatever execution; one with a longer time goes on', async () => {
  const run = await start(
    byTurn(payment(1), payment(2, 'them'), call('nap', { ms: 1500 }), payment(3), payment(4, 'them')),
  );
  await waiting(run, 'pay_1');
  await run.approve({ callId: 'pay_1', remember: { args: { to: 'us' }, for: 1000 } });
  await waiting(run, 'pay_2');
  await run.approve({ callId: 'pay_2', remember: { args: { to: 'them' }, for: '1 hour' } });
  await waiting(run, 'pay_3');
  expect((await executionsOf(rig.temporal, run.id)).length).toBeGreaterThan(1);
  await run.approve('pay_3');
  expect(await run.result()).toMatchObject({ status: 'completed' });
  expect(paid).toEqual([1, 2, 3, 4]);
  await replays(run);
}, 120_000);

test('while a call waits the run stays in its execution, though it is due; then it goes on in a new one', async () => {
  const run = await start(byTurn(payment(1), payment(2), payment(3)));
  await run.setMode('auto');
  for (const n of [1, 2, 3]) {
    await waiting(run, `pay_${n}`);
    const execution = (await executionsOf(rig.temporal, run.id)).at(-1);
    for (let i = 0; i < 10; i += 1) await run.temporal.signal('steer', `While you wait, ${n}.${i}.`);
    await eventually(async () => (await run.state()).queues.steering === 10);
    expect((await executionsOf(rig.temporal, run.id)).at(-1)).toBe(execution);
    expect((await eventsOf(rig.temporal, run.id)).length).toBeGreaterThan(15);
    await run.approve(`pay_${n}`);
  }
  expect(await run.result()).toMatchObject({ status: 'completed', toolCalls: 3, unconsumedSteering: [] });
  expect((await executionsOf(rig.temporal, run.id)).length).toBeGreaterThan(2);
  expect(paid).toEqual([1, 2, 3]);
  expect((await run.state()).mode).toBe('auto');
  await validMessages(run);
  await replays(run);
}, 120_000);

test('approvals before and after compactions, by a server that uses one id for all its calls', async () => {
  const run = await start(
    (request) => {
      if (textOf(request.messages[0]).startsWith('You write the summary')) return text('Some were paid.');
      const last = request.messages.flatMap(({ tool_calls: calls }) => calls ?? []).at(-1);
      const n = Number(/\d+/.exec(last?.function?.arguments ?? '0')?.[0]) + 1;
      return n <= 8 ? call('pay', { n }, { id: 'call_0' }) : text('Done.');
    },
    { context: { window: 5000, keepTurns: 1 } },
  );
  for (let n = 1; n <= 8; n += 1) {
    const callId = await eventually(async () => {
      const [pending] = (await run.state()).pending;
      return pending?.args.includes(`"n":${n}`) && pending.callId;
    }, `payment ${n}`);
    if (n === 5) await run.deny({ callId, reason: 'Not the fifth.' });
    else await run.approve(callId);
  }
  expect(await run.result()).toMatchObject({ status: 'completed', toolCalls: 7 });
  expect((await run.state()).compactions).toBeGreaterThan(0);
  expect(paid).toEqual([1, 2, 3, 4, 6, 7, 8]);
  await validMessages(run);
}, 120_000);
