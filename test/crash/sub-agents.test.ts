/** Workers are killed while agents that a run has called are open: none is started twice, lost, or left behind. */
import type { RunHandle } from 'everlap/client';
import { call, calls, text, type RecordedRequest, type ScriptedModelOptions, type Step } from 'everlap/testing';
import { expect, onTestFinished, test } from 'vitest';
import { eventsOf } from '../support/history.js';
import { eventually } from '../support/rig.js';
import { startCrashRig, turnOf, type CrashRig } from './crash-rig.js';

const SLOW = 180_000;

const byTurn =
  (...steps: readonly Step[]) =>
  (request: RecordedRequest): Step =>
    steps[turnOf(request) - 1] ?? text('Done.');

const TASKS = ['Pay.', 'Ask.', 'Read.'];
const SCRIPT: ScriptedModelOptions = {
  byTask: {
    'Lead.': byTurn(calls(TASKS.map((task) => ({ name: 'clerk', arguments: { task } }))), text('All reported.')),
    'Pay.': byTurn(call('pay', { n: 1 }), text('Tried to pay.')),
    'Ask.': byTurn(call('gated', { n: 2 }, { id: 'gated' }), text('Was allowed.')),
    'Read.': byTurn(call('read', { n: 3 }), text('Has read.')),
  },
};

async function startRig(): Promise<CrashRig> {
  const rig = await startCrashRig(SCRIPT);
  onTestFinished(() => rig.stop());
  return rig;
}

const start = (rig: CrashRig): Promise<RunHandle> => rig.start({ agent: 'chief', task: 'Lead.' });

async function initiated(rig: CrashRig, { id }: RunHandle): Promise<string[]> {
  return (await eventsOf(rig.temporal, id)).flatMap(
    (event) => event.startChildWorkflowExecutionInitiatedEventAttributes?.workflowId ?? [],
  );
}

async function words(rig: CrashRig, tool: string): Promise<string> {
  return (await rig.effects(tool)).map(({ word }) => word).join(' ');
}

/** Each agent was called once, asked once a turn, and its answer came back. */
async function finished(rig: CrashRig, run: RunHandle): Promise<void> {
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'All reported.', turns: 2, toolCalls: 3 });
  const results = (await run.messages()).filter(({ role }) => role === 'tool').map(({ text: said }) => said);
  expect(results).toEqual(['Tried to pay.', 'Was allowed.', 'Has read.']);
  const children = await initiated(rig, run);
  expect(children).toHaveLength(3);
  const ends = await Promise.all(children.map((id) => rig.client.handle(id).result()));
  expect(ends.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
}

test(
  'killed while one pays, one waits for a person and one reads: the payment is not made again, the others go on',
  async () => {
    const rig = await startRig();
    await rig.hold('after-pay');
    await rig.hold('before-read');
    const worker = await rig.worker();
    const run = await start(rig);
    await eventually(
      async () => (await words(rig, 'pay')) === 'begin effect' && (await words(rig, 'read')) === 'begin',
    );
    await eventually(async () => (await run.state()).pending.some(({ callId }) => callId === 'gated'), 'the question');
    await worker.kill();
    await rig.release('after-pay');
    await rig.release('before-read');
    // Decided while nobody is there: the parent passes it on.
    await run.temporal.signal('approve', 'gated');
    await rig.worker();
    await finished(rig, run);
    expect(await words(rig, 'pay')).toBe('begin effect');
    expect(await words(rig, 'gated')).toBe('begin effect');
    expect(await words(rig, 'read')).toMatch(/^begin( begin)* effect$/);
    expect(rig.model.requests).toHaveLength(8);
  },
  SLOW,
);

test(
  'killed in the moment in which they are started: each is started once, and runs',
  async () => {
    const rig = await startRig();
    const worker = await rig.worker();
    const run = await start(rig);
    await eventually(async () => (await initiated(rig, run)).length > 0, 'the first child');
    await worker.kill();
    await rig.worker();
    await eventually(async () => (await run.state()).pending.some(({ callId }) => callId === 'gated'), 'the question');
    await run.approve('gated');
    await finished(rig, run);
    expect(await words(rig, 'gated')).toBe('begin effect');
  },
  SLOW,
);

test(
  'killed and cancelled while nobody is there: all of them end, and what they used is counted',
  async () => {
    const rig = await startRig();
    await rig.hold('before-pay');
    await rig.hold('before-read');
    const worker = await rig.worker();
    const run = await start(rig);
    await eventually(async () => (await words(rig, 'pay')) === 'begin' && (await words(rig, 'read')) === 'begin');
    await eventually(async () => (await run.state()).pending.some(({ callId }) => callId === 'gated'), 'the question');
    await worker.kill();
    await run.cancel();
    await rig.worker();
    const result = await run.result();
    expect(result).toMatchObject({ status: 'cancelled', turns: 1 });
    const ends = await Promise.all((await initiated(rig, run)).map((id) => rig.client.handle(id).result()));
    // One whose tool was lost with the worker may be done before it hears of the cancel.
    expect(ends.map(({ status }) => status)).toEqual([
      expect.stringMatching(/^(cancelled|completed)$/),
      'cancelled',
      expect.stringMatching(/^(cancelled|completed)$/),
    ]);
    const below = ends.reduce((sum, { usage }) => sum + usage.input, 0);
    expect(below).toBeGreaterThan(0);
    expect(result.usage.input).toBeGreaterThan(below);
    expect(await words(rig, 'pay')).toBe('begin');
    expect(await words(rig, 'gated')).toBe('');
    await rig.release('before-pay');
    await rig.release('before-read');
  },
  SLOW,
);
