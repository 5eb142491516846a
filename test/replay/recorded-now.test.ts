/** Histories recorded in this very test run, of every kind of run: each execution replays on the workflow bundle. */
import { temporal } from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { askHuman, defineTool, type AgentOptions } from 'everlap';
import { call, calls, gate, httpError, text, type Script } from 'everlap/testing';
import type { RunHandle } from 'everlap/client';
import { everlapBundle } from 'everlap/worker';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { eventsOf, executionsOf } from '../support/history.js';
import { eventually, startRig, type Rig } from '../support/rig.js';

let rig: Rig;
afterEach(() => rig.stop({ verify: false }));

const add = defineTool({
  name: 'add',
  description: 'Adds.',
  input: z.object({ a: z.number() }),
  effects: 'none',
  execute: ({ a }) => a + 1,
});
const local = defineTool({
  name: 'local',
  description: 'Adds.',
  input: z.object({ a: z.number() }),
  effects: 'none',
  execution: 'local',
  execute: ({ a }) => a + 1,
});
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({ usd: z.number() }),
  approval: 'always',
  execute: ({ usd }) => `paid ${usd}`,
});
const broken = defineTool({
  name: 'broken',
  description: 'Fails.',
  input: z.object({}),
  execute: () => {
    throw new Error('It is broken.');
  },
});

interface Kind {
  readonly script: Script;
  readonly agent?: Partial<AgentOptions>;
  /** What is done to the run while it works. */
  readonly meanwhile?: (run: RunHandle) => Promise<unknown>;
  readonly ends: string;
}

const waiting = (run: RunHandle): Promise<unknown> =>
  eventually(async () => (await run.state()).pending.length > 0, 'a pending call');
const held = (): { script: Script; open: () => void; reached: Promise<void> } => {
  const hold = gate();
  return {
    script: [text('First.', { waitFor: hold }), text('Second.'), text('Third.')],
    open: () => hold.open(),
    reached: hold.reached,
  };
};

const steered = held();
const finished = held();
const paused = held();
const cancelled = held();

const KINDS: Readonly<Record<string, Kind>> = {
  'an answer': { script: [text('Yes.')], ends: 'answered' },
  'tools, one after another, parallel, wrong, local': {
    script: [
      call('add', { a: 1 }),
      calls([
        { name: 'add', arguments: { a: 2 } },
        { name: 'local', arguments: { a: 3 } },
        { name: 'broken', arguments: {} },
        { name: 'nobody', arguments: {} },
        { name: 'add', arguments: 'no json' },
      ]),
      text('Done.'),
    ],
    ends: 'answered',
  },
  'steering by signal and by update, and a follow-up': {
    script: steered.script,
    meanwhile: async (run) => {
      await steered.reached;
      await run.temporal.signal('steer', 'one');
      await run.steer({ text: 'two', id: 'two' });
      await run.followUp('three');
      await run.temporal.signal('steer', { wrong: true });
      steered.open();
    },
    ends: 'answered',
  },
  'force-finished': {
    script: finished.script,
    meanwhile: async (run) => {
      await finished.reached;
      await run.forceFinish({ output: 'Enough.' });
      finished.open();
    },
    ends: 'force_finished',
  },
  'paused, resumed, with other limits': {
    script: paused.script,
    meanwhile: async (run) => {
      await paused.reached;
      const pause = run.pause();
      paused.open();
      await pause.catch(() => undefined);
      await run.setLimits({ turns: 20, duration: '1 hour' }).catch(() => undefined);
      await run.resume().catch(() => undefined);
    },
    ends: 'answered',
  },
  cancelled: {
    script: cancelled.script,
    meanwhile: async (run) => {
      await cancelled.reached;
      await run.cancel();
    },
    ends: 'cancelled',
  },
  'a call that was approved, a question that was answered': {
    script: [
      call('pay', { usd: 1 }, { id: 'pay' }),
      call('ask_human', { question: 'Which?' }, { id: 'ask' }),
      text('Done.'),
    ],
    meanwhile: async (run) => {
      await waiting(run);
      await run.approve({ callId: 'pay', args: { usd: 2 } });
      await eventually(async () => (await run.state()).pending[0]?.callId === 'ask');
      await run.answer({ callId: 'ask', text: 'Red.' });
    },
    ends: 'answered',
  },
  'a retry, then a fallback model': {
    script: [httpError(503, {}), httpError(503, {}), text('From the other.')],
    agent: { model: { name: 'first', attempts: 2 }, fallbackModels: ['second'] },
    ends: 'answered',
  },
  'a failed run': { script: [httpError(401, {})], ends: 'auth' },
  'an empty answer, a cut one': {
    script: [text(''), text('Half', { finish: 'length' }), text(' and half.')],
    ends: 'answered',
  },
  stuck: { script: () => call('add', { a: 1 }), ends: 'stuck' },
  'exhausted, with a summary': {
    script: (_, turn) => (turn < 2 ? call('add', { a: turn }) : text('So far.')),
    agent: { limits: { turns: 2 }, onLimit: 'summarize' },
    ends: 'max_turns',
  },
  'a deadline': { script: [call('pay', { usd: 1 })], agent: { limits: { duration: '2 seconds' } }, ends: 'deadline' },
  compacted: {
    script: (request, turn) =>
      request.body['tools'] === undefined ? text('A summary.') : turn < 12 ? call('add', { a: turn }) : text('Done.'),
    agent: { context: { window: 1000, compactAt: 0.3 } },
    ends: 'answered',
  },
  'laps, with a promise': {
    script: [text('Not yet.'), text('DONE')],
    agent: { laps: { max: 3, until: { promise: 'DONE' } } },
    ends: 'promise_kept',
  },
};

test.each(Object.keys(KINDS))('%s', async (name) => {
  const kind = KINDS[name];
  if (kind === undefined) throw new Error(`No kind ${name}.`);
  const { script, agent, meanwhile, ends } = kind;
  rig = await startRig({ script, agent: { tools: [add, local, pay, broken, askHuman()], ...agent } });
  const run = await rig.start();
  const [result] = await Promise.all([run.result(), meanwhile?.(run)]);
  expect(result).toMatchObject({ reason: ends });
  const executions = await executionsOf(rig.temporal, run.id);
  for (const runId of executions) {
    const events = await eventsOf(rig.temporal, run.id, runId);
    const history = temporal.api.history.v1.History.fromObject({ events });
    await Worker.runReplayHistory({ workflowBundle: everlapBundle() }, history, run.id);
  }
});

test('a history that the workflow would not have written does not replay', async () => {
  rig = await startRig({ script: [call('add', { a: 1 }), text('Done.')], agent: { tools: [add] } });
  const run = await rig.start();
  await run.result();
  const events = (await eventsOf(rig.temporal, run.id)).map((event) => {
    const scheduled = event.activityTaskScheduledEventAttributes;
    return scheduled?.activityType?.name === 'tool.add'
      ? { ...event, activityTaskScheduledEventAttributes: { ...scheduled, activityType: { name: 'tool.other' } } }
      : event;
  });
  const history = temporal.api.history.v1.History.fromObject({ events });
  await expect(Worker.runReplayHistory({ workflowBundle: everlapBundle() }, history, run.id)).rejects.toThrow();
});
