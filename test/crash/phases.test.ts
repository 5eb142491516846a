/** SCENARIO 37: the worker is killed with SIGKILL at each phase of a run; nothing is asked, done or said twice, or lost. */
import { call, gate, text, textOf, type RecordedRequest, type ScriptedModelOptions, type Step } from 'everlap/testing';
import type { RunHandle } from 'everlap/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { completed, eventsOf } from '../support/history.js';
import { eventually } from '../support/rig.js';
import { askedAgain, startCrashRig, steeringIn, turnOf, type CrashRig, type WorkerProcess } from './crash-rig.js';

const SLOW = 120_000;

async function startRig(script: ScriptedModelOptions): Promise<CrashRig> {
  const rig = await startCrashRig(script);
  onTestFinished(() => rig.stop());
  return rig;
}

/** By turn, whatever is retried; after the last step the run is told that it is done. */
function byTurn(...steps: Step[]): { script: (request: RecordedRequest) => Step } {
  return { script: (request) => steps[turnOf(request) - 1] ?? text('Done.') };
}

/** A step for the first time that a turn is asked for; whoever asks again gets the same answer without the wait. */
function firstTime(waiting: Step, later: Step): () => Step {
  let asked = false;
  return () => {
    const step = asked ? later : waiting;
    asked = true;
    return step;
  };
}

async function kill(run: RunHandle, worker: WorkerProcess): Promise<void> {
  await run.steer('before the kill');
  await worker.kill();
  await run.temporal.signal('steer', 'while it was dead');
}

/** The run goes on with a new worker and ends; what was said around the kill is in the conversation, once, in order. */
async function finishes(rig: CrashRig, run: RunHandle, modelCalls: number): Promise<void> {
  await rig.worker();
  expect(await run.result()).toMatchObject({ status: 'completed', reason: 'answered', output: 'Done.' });
  expect(await steeringIn(run)).toEqual(['before the kill', 'while it was dead']);
  expect(await askedAgain(rig, run)).toEqual([]);
  expect(rig.model.requests).toHaveLength(modelCalls);
}

const answeredCalls = async (rig: CrashRig, run: RunHandle): Promise<number> =>
  completed(await eventsOf(rig.temporal, run.id), 'callModel');

describe('while a model call is open, the call is made once more', () => {
  test.each([
    ['before the answer', (until: Promise<void>) => call('read', { n: 1 }, { waitFor: until })],
    ['in mid-stream', (until: Promise<void>) => call('read', { n: 1 }, { holdAfter: { chunks: 2, until } })],
  ])(
    'killed %s',
    async (_, held) => {
      const answer = gate();
      const first = firstTime(held(answer.promise), call('read', { n: 1 }));
      const rig = await startRig({ script: (request) => (turnOf(request) === 1 ? first() : text('Done.')) });
      const worker = await rig.worker();
      const run = await rig.start();
      await rig.model.waitForRequest(0);
      await kill(run, worker);
      answer.open();
      await finishes(rig, run, 3);
      expect(await rig.effects('read')).toHaveLength(2);
    },
    SLOW,
  );
});

describe('once an answer is in the history, it is not asked for again', () => {
  test.each([
    ['before its tools begin', call('pay', { n: 1 }), 2, 1],
    // What was said meanwhile gets its answer: one more call.
    ['and was the last one', text('Almost done.'), 2, 0],
  ])(
    'killed when it was given, %s',
    async (_, step, modelCalls, effects) => {
      const answer = gate();
      const rig = await startRig(byTurn({ ...step, waitFor: answer }));
      const [workflows, activities] = await Promise.all([rig.worker('workflows'), rig.worker('activities')]);
      const run = await rig.start();
      await answer.reached;
      await kill(run, workflows);
      answer.open();
      await eventually(async () => (await answeredCalls(rig, run)) === 1, 'the answer');
      await activities.kill();
      await finishes(rig, run, modelCalls);
      expect((await rig.effects('pay')).filter(({ word }) => word === 'effect')).toHaveLength(effects);
    },
    SLOW,
  );
});

describe('in the middle of a tool', () => {
  const UNKNOWN = /^Outcome unknown: pay was started/;
  test.each([
    // tool, place, what its log says in the end, its result
    ['read', 'before', /^begin( begin effect)+$/, /^mark 1$/],
    ['read', 'after', /^begin effect( begin effect)+$/, /^mark 1$/],
    ['put', 'after', /^begin effect( begin effect)+$/, /^mark 1$/],
    ['local_read', 'after', /^begin effect( begin effect)+$/, /^mark 1$/],
    ['pay', 'before', /^begin$/, UNKNOWN],
    ['pay', 'after', /^begin effect$/, UNKNOWN],
    ['order', 'before', /^begin reconcile begin effect$/, /^mark 1$/],
    ['order', 'after', /^begin effect reconcile$/, /^it was ordered$/],
  ])(
    'killed in %s, %s its effect',
    async (tool, place, words, result) => {
      const rig = await startRig(byTurn(call(tool, { n: 1 })));
      await rig.hold(`${place}-${tool}`);
      const worker = await rig.worker();
      const run = await rig.start();
      await eventually(async () =>
        (await rig.effects(tool)).some(({ word }) => word === (place === 'after' ? 'effect' : 'begin')),
      );
      await kill(run, worker);
      await rig.release(`${place}-${tool}`);
      await finishes(rig, run, 2);
      const effects = await rig.effects(tool);
      expect(effects.map(({ word }) => word).join(' ')).toMatch(words);
      expect(new Set(effects.map(({ key }) => key)).size).toBe(1);
      const results = (await run.messages()).filter(({ role }) => role === 'tool');
      expect(results.map(({ text }) => text)).toEqual([expect.stringMatching(result)]);
    },
    SLOW,
  );
});

test(
  'killed while the run waits in a pause: it waits on, and resumes',
  async () => {
    const rig = await startRig(byTurn(call('read', { n: 1 }, { delayMs: 200 })));
    const worker = await rig.worker();
    const run = await rig.start();
    await run.pause();
    await kill(run, worker);
    const next = await rig.worker();
    expect(await run.state()).toMatchObject({ status: 'paused', queues: { steering: 2 } });
    await next.kill();
    const last = await rig.worker();
    await run.resume();
    expect(await run.result()).toMatchObject({ status: 'completed', output: 'Done.' });
    expect(await steeringIn(run)).toEqual(['before the kill', 'while it was dead']);
    expect(await askedAgain(rig, run)).toEqual([]);
    expect(rig.model.requests).toHaveLength(2);
    expect(await last.terminate()).toBe(0);
  },
  SLOW,
);

test(
  'killed in the middle of a compaction: the summary is asked for once more, the run goes on with one',
  async () => {
    const wantsSummary = ({ messages }: RecordedRequest): boolean =>
      textOf(messages[0]).startsWith('You write the summary');
    const summary = gate();
    const first = firstTime(text('Pages were read.', { waitFor: summary }), text('Pages were read.'));
    const rig = await startRig({
      script: (request) => {
        if (wantsSummary(request)) return first();
        // Older turns are gone: the last call tells how far it is.
        const last = request.messages.flatMap(({ tool_calls: calls }) => calls ?? []).at(-1);
        const n = Number(/\d+/.exec(last?.function?.arguments ?? '0')?.[0]) + 1;
        return n <= 8 ? call('long_read', { n }) : text('Done.');
      },
    });
    const worker = await rig.worker();
    const run = await rig.start({ settings: { context: { window: 10_000, keepTurns: 2 } } });
    await summary.reached;
    await kill(run, worker);
    summary.open();
    await rig.worker();
    const result = await run.result();
    expect(result).toMatchObject({ status: 'completed', output: 'Done.', toolCalls: 8 });
    const { compactions } = await run.state();
    expect(compactions).toBeGreaterThan(0);
    expect(rig.model.requests.filter(wantsSummary)).toHaveLength(compactions + 1);
    expect(rig.model.requests.filter((request) => !wantsSummary(request))).toHaveLength(result.turns);
    expect(await steeringIn(run)).toEqual(['before the kill', 'while it was dead']);
  },
  SLOW,
);
