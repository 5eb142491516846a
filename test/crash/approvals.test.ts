/** SCENARIO 19 and its neighbours: workers are killed while calls wait for a person, between two decisions, and after one. */
import type { RunHandle } from 'everlap/client';
import { calls, text, type RecordedRequest, type Step } from 'everlap/testing';
import { expect, onTestFinished, test } from 'vitest';
import { completed, eventsOf } from '../support/history.js';
import { eventually } from '../support/rig.js';
import { askedAgain, startCrashRig, turnOf, type CrashRig } from './crash-rig.js';

const SLOW = 120_000;

/** One free call between two that ask, then the end. */
const script = (request: RecordedRequest): Step =>
  turnOf(request) > 1
    ? text('Done.')
    : calls([
        { name: 'gated', arguments: { n: 1 }, id: 'first' },
        { name: 'read', arguments: { n: 2 }, id: 'free' },
        { name: 'gated', arguments: { n: 3 }, id: 'second' },
      ]);

async function startRig(): Promise<CrashRig> {
  const rig = await startCrashRig({ script });
  onTestFinished(() => rig.stop());
  return rig;
}

function waiting(run: RunHandle, ...ids: readonly string[]): Promise<unknown> {
  return eventually(
    async () => {
      const { pending } = await run.state();
      return JSON.stringify(pending.map(({ callId }) => callId)) === JSON.stringify(ids);
    },
    `waiting for ${ids.join(', ')}`,
  );
}

async function effectsOf(rig: CrashRig, tool: string): Promise<number> {
  return (await rig.effects(tool)).filter(({ word }) => word === 'effect').length;
}

async function resultsOf(run: RunHandle): Promise<string[]> {
  return (await run.messages()).flatMap((message) => (message.role === 'tool' ? [message.text] : []));
}

async function resultsInHistory(rig: CrashRig, run: RunHandle): Promise<number> {
  return completed(await eventsOf(rig.temporal, run.id), 'tool.gated');
}

test.each([
  ['first', 'second'],
  ['second', 'first'],
])(
  'killed before, between and after two decisions (%s, then %s): each call runs once, the free one never again',
  async (one, two) => {
    const rig = await startRig();
    let worker = await rig.worker();
    const again = async (): Promise<void> => {
      await worker.kill();
      worker = await rig.worker();
    };
    const run = await rig.start();
    await waiting(run, 'first', 'second');
    await eventually(async () => (await effectsOf(rig, 'read')) === 1, 'the free call');
    await again();
    await waiting(run, 'first', 'second');
    expect(await run.approve(one)).toEqual({ callId: one, state: 'approved' });
    await eventually(async () => (await resultsInHistory(rig, run)) === 1, 'the result of the first');
    await again();
    await waiting(run, two);
    await expect(run.approve(one)).rejects.toThrow(/decided or closed already/);
    await worker.kill();
    await run.temporal.signal('approve', two);
    worker = await rig.worker();
    expect(await run.result()).toMatchObject({ status: 'completed', output: 'Done.', turns: 2, toolCalls: 3 });
    expect(await resultsOf(run)).toEqual(['mark 1', 'mark 2', 'mark 3']);
    expect(await effectsOf(rig, 'read')).toBe(1);
    expect(await effectsOf(rig, 'gated')).toBe(2);
    expect(await askedAgain(rig, run)).toEqual([]);
    expect(rig.model.requests).toHaveLength(2);
  },
  SLOW,
);

test(
  'killed while an approved call runs: it is not run again, nobody is asked again, the other one waits on',
  async () => {
    const rig = await startRig();
    await rig.hold('after-gated');
    const worker = await rig.worker();
    const run = await rig.start();
    await waiting(run, 'first', 'second');
    await run.approve('second');
    await eventually(async () => (await effectsOf(rig, 'gated')) === 1, 'the approved call');
    await worker.kill();
    await rig.release('after-gated');
    await rig.worker();
    await waiting(run, 'first');
    await run.deny({ callId: 'first', reason: 'One was enough.' });
    expect(await run.result()).toMatchObject({ status: 'completed', toolCalls: 2 });
    expect(await resultsOf(run)).toEqual([
      expect.stringMatching(/^Denied by a person.*One was enough\.$/),
      'mark 2',
      expect.stringMatching(/^Outcome unknown: gated/),
    ]);
    expect(await effectsOf(rig, 'gated')).toBe(1);
    expect(await effectsOf(rig, 'read')).toBe(1);
  },
  SLOW,
);
