/**
 * A decision that races with what closes its call, a hundred times each. Whoever is told that a call is approved sees it
 * run, once; whoever comes too late is told so, and the call does not run. No run hangs, no conversation is broken, and
 * each history replays.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { askHuman, defineTool } from 'everlap';
import type { RunHandle, RunView } from 'everlap/client';
import { call, text, type StepMaker } from 'everlap/testing';
import { everlapBundle } from 'everlap/worker';
import { Worker } from '@temporalio/worker';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { validMessages } from '../support/conversation.js';
import { eventsOf, EventType, type HistoryEvent } from '../support/history.js';
import { eventually, startRig, type Rig } from '../support/rig.js';

const RACES = 100;
/** Runs under way at once. */
const AT_ONCE = 25;
const SLOW = 300_000;

let rig: Rig;
/** Payments, by the number of their race. */
let paid: number[];
afterEach(() => rig.stop());

interface Race {
  readonly index: number;
  readonly run: RunHandle;
  /** While the call waits. */
  readonly state: RunView;
}
/** What the approval races with: how long it waits before it is sent, and what is done beside it. Milliseconds. */
interface Contest {
  readonly wait: number;
  readonly act?: () => Promise<unknown>;
}
interface Options {
  readonly approvalTimeout?: number;
  readonly duration?: number;
}

async function startRaces({ approvalTimeout, duration }: Options): Promise<void> {
  paid = [];
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({ n: z.number() }),
    approval: 'always',
    ...(approvalTimeout !== undefined && { approvalTimeout }),
    execute: ({ n }) => {
      paid.push(n);
      return `paid ${n}`;
    },
  });
  const script =
    (n: number): StepMaker =>
    (_, turn) =>
      turn === 0 ? call('pay', { n }, { id: 'pay' }) : text('Done.');
  rig = await startRig({
    agent: { tools: [pay], ...(duration !== undefined && { limits: { duration } }) },
    byTask: Object.fromEntries(Array.from({ length: RACES }, (_, n) => [`race ${n}.`, script(n)])),
  });
}

async function race(index: number, contest: (race: Race) => Contest): Promise<RunHandle> {
  const run = await rig.start({ task: `race ${index}.` });
  const state = await eventually(async () => {
    const now = await run.state();
    return (now.pending.length === 1 || now.reason !== undefined) && now;
  });
  const { wait, act } = contest({ index, run, state });
  const acting = act?.();
  await sleep(Math.max(0, wait));
  // With changed arguments the tool is asked first whether they are right, which takes a while.
  const approval = run.approve(index % 3 === 0 ? { callId: 'pay', args: { n: index } } : 'pay');
  const [answer] = await Promise.allSettled([approval, acting]);
  const { reason } = await run.result();
  await validMessages(run);
  const times = paid.filter((n) => n === index).length;
  if (answer.status === 'fulfilled') {
    expect(times, `payments of race ${index}, ${reason}`).toBe((await wasBegun(run)) ? 1 : 0);
  } else {
    expect(answer.reason).toMatchObject({ name: expect.stringMatching(/^Run(Argument|Ended)Error$/) as string });
    expect(times, `payments of race ${index}, ${reason}`).toBe(0);
  }
  return run;
}

/**
 * Whether a worker had the call in hand. It is scheduled as soon as it is approved; a cancel that comes before a worker
 * has fetched it is the server's to grant.
 */
async function wasBegun(run: RunHandle): Promise<boolean> {
  const events = await eventsOf(rig.temporal, run.id);
  const scheduled = events.find(
    ({ activityTaskScheduledEventAttributes: of }) => of?.activityType?.name === 'tool.pay',
  )?.eventId;
  expect(scheduled, 'an approved call is scheduled').toBeDefined();
  const wasCancelled = ({ eventType, activityTaskCanceledEventAttributes: of }: HistoryEvent): boolean =>
    eventType === EventType.EVENT_TYPE_ACTIVITY_TASK_CANCELED && String(of?.scheduledEventId) === String(scheduled);
  const neverStarted = events.some(
    (event) => wasCancelled(event) && Number(event.activityTaskCanceledEventAttributes?.startedEventId ?? 0) === 0,
  );
  return !neverStarted;
}

/** From 0 to 1, spread over the races. */
const spread = (index: number): number => ((index * 7919) % 1000) / 1000;

test.each<[string, Options, (race: Race) => Contest]>([
  ['cancel', {}, ({ index, run }) => ({ wait: 10 * spread(index), act: () => later(index, () => run.cancel()) })],
  [
    'force-finish',
    {},
    ({ index, run }) => ({ wait: 10 * spread(index), act: () => later(index, () => run.forceFinish()) }),
  ],
  [
    'its own timeout',
    { approvalTimeout: 2000 },
    ({ index, state }) => ({ wait: (state.pending[0]?.expiresAt ?? 0) - Date.now() - 100 + 200 * spread(index) }),
  ],
  [
    'the deadline',
    { duration: 6000 },
    ({ index, state }) => ({ wait: (state.limits['durationMs']?.left ?? 0) - 150 + 200 * spread(index) }),
  ],
])(
  'an approval races with %s',
  async (_, options, contest) => {
    await startRaces(options);
    const waiting = [...Array(RACES).keys()];
    const runs: RunHandle[] = [];
    const lane = async (): Promise<void> => {
      for (let index = waiting.shift(); index !== undefined; index = waiting.shift())
        runs.push(await race(index, contest));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    await replay(runs);
  },
  SLOW,
);

test(
  'an answer races with its time: what was answered is what the model reads, else the default is',
  async () => {
    const tasks = Array.from({ length: RACES }, (_, n) => `question ${n}.`);
    const script: StepMaker = (_, turn) =>
      turn === 0 ? call('ask_human', { question: 'Well?' }, { id: 'q' }) : text('Done.');
    rig = await startRig({
      agent: { tools: [askHuman({ timeout: 2000, defaultAnswer: 'By default.' })] },
      byTask: Object.fromEntries(tasks.map((task) => [task, script])),
    });
    const waiting = [...tasks.entries()];
    const runs: RunHandle[] = [];
    const lane = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [index, task] = next;
        const run = await rig.start({ task });
        const due = await eventually(async () => (await run.state()).pending[0]?.expiresAt);
        await sleep(Math.max(0, due - Date.now() - 100 + 200 * spread(index)));
        const answer = await run.answer({ callId: 'q', text: `Mine, ${index}.` }).then(
          () => `Mine, ${index}.`,
          (error: unknown) => {
            expect(error).toMatchObject({ name: expect.stringMatching(/^Run(Argument|Ended)Error$/) as string });
            return 'By default.';
          },
        );
        expect(await run.result()).toMatchObject({ status: 'completed' });
        const read = (await validMessages(run)).find(({ role }) => role === 'tool')?.text;
        expect(read, task).toBe(answer);
        runs.push(run);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    await replay(runs);
  },
  SLOW,
);

async function later(index: number, act: () => Promise<unknown>): Promise<unknown> {
  await sleep(10 * spread(index + RACES));
  return act();
}

async function replay(runs: readonly RunHandle[]): Promise<void> {
  const histories = async function* () {
    for (const { id, temporal } of runs) yield { workflowId: id, history: await temporal.fetchHistory() };
  };
  for await (const { workflowId, error } of Worker.runReplayHistories(
    { workflowBundle: everlapBundle() },
    histories(),
  )) {
    expect(error, workflowId).toBeUndefined();
  }
}
