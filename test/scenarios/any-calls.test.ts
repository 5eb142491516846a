/**
 * Any calls in one answer: local and not, parallel and serial, free, gated and asked for, in any order, while people
 * decide, steer and pause. Each runs once, no serial one has company, and the history replays.
 */
import { defineTool, type ToolDefinition } from 'everlap';
import type { RunHandle } from 'everlap/client';
import { calls, text, type StepMaker } from 'everlap/testing';
import { everlapBundle } from 'everlap/worker';
import { Worker } from '@temporalio/worker';
import * as fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { validMessages } from '../support/conversation.js';
import { eventually, startRig, type Rig } from '../support/rig.js';

const RUNS = 40;

let rig: Rig;
afterEach(() => rig.stop());

const KINDS = ['local', 'local_serial', 'activity', 'serial', 'gate_free', 'gate_asks', 'asks', 'asks_serial'] as const;
type Kind = (typeof KINDS)[number];

/** Calls of one run that are running now, by kind; and all that have ended. */
class Seen {
  readonly running: Kind[] = [];
  readonly ended: number[] = [];
  readonly wrong: string[] = [];
}

function tools(seen: Map<string, Seen>): ToolDefinition[] {
  return KINDS.map((kind) => {
    const isLocal = kind.startsWith('local');
    return defineTool({
      name: kind,
      description: `A ${kind} one.`,
      input: z.object({ task: z.string(), n: z.number(), ms: z.number() }),
      effects: isLocal ? 'none' : 'idempotent',
      concurrency: kind.endsWith('serial') ? 'serial' : 'parallel',
      execution: isLocal ? 'local' : 'activity',
      ...(kind.startsWith('asks') && { approval: 'always' as const }),
      ...(kind.startsWith('gate') && { approval: () => kind === 'gate_asks' }),
      execute: async ({ task, n, ms }) => {
        const of = seen.get(task) ?? new Seen();
        seen.set(task, of);
        const alone = [kind, ...of.running].some((one) => one.endsWith('serial'));
        if (alone && of.running.length > 0) of.wrong.push(`${kind} beside ${of.running.join()}`);
        of.running.push(kind);
        await new Promise((resolve) => setTimeout(resolve, ms));
        of.running.splice(of.running.indexOf(kind), 1);
        of.ended.push(n);
        return `${kind} ${n}`;
      },
    });
  });
}

const anyCall = fc.record({ kind: fc.constantFrom(...KINDS), ms: fc.constantFrom(0, 0, 5, 30) });
interface AnyRun {
  readonly calls: readonly { readonly kind: Kind; readonly ms: number }[];
  readonly meddle: 'not' | 'steer' | 'pause';
}
const anyRun: fc.Arbitrary<AnyRun> = fc.record({
  calls: fc.array(anyCall, { minLength: 1, maxLength: 8 }),
  meddle: fc.constantFrom('not', 'steer', 'pause'),
});

/**
 * Without a query while the run lives: beside one, the SDK may leave a history with local activities that does not replay
 * (`src/worker/local-ends.ts`). A call that does not wait yet refuses its decision, and leaves no trace.
 */
async function meddleWith(run: RunHandle, { calls: all, meddle }: AnyRun): Promise<void> {
  const asking = all.flatMap(({ kind }, n) => (kind.startsWith('asks') || kind === 'gate_asks' ? [`call_${n}`] : []));
  /** Answers where it has paused, among the calls; or where it has ended before that. */
  const pause = async (): Promise<void> => {
    await run.pause().catch(() => undefined);
    await run.resume().catch(() => undefined);
  };
  const decide = async (callId: string): Promise<void> => {
    await eventually(() => run.approve(callId).then(() => true, isDecided), `the approval of ${callId}`, 60_000);
    if (meddle === 'steer') await run.temporal.signal('steer', 'Go on.').catch(() => undefined);
    if (meddle === 'pause') await pause();
  };
  if (meddle === 'pause') await pause();
  await Promise.all(asking.map(decide));
}

/** It was taken, and its answer lost. Any other refusal: it does not wait yet. */
function isDecided(error: unknown): boolean {
  return /decided or closed already/.test(String(error));
}

test(`${RUNS} runs`, async () => {
  const runs = fc.sample(anyRun, { numRuns: RUNS, seed: 20261130 });
  const seen = new Map<string, Seen>();
  const script =
    (task: string, of: AnyRun): StepMaker =>
    ({ messages }) =>
      messages.some(({ role }) => role === 'assistant')
        ? text('Done.')
        : calls(of.calls.map(({ kind, ms }, n) => ({ name: kind, arguments: { task, n, ms }, id: `call_${n}` })));
  const task = (n: number): string => `Run ${n}.`;
  rig = await startRig({
    agent: { tools: tools(seen) },
    byTask: Object.fromEntries(runs.map((of, n) => [task(n), script(task(n), of)])),
  });
  const waiting = [...runs.entries()];
  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [n, of] = next;
      const run = await rig.start({ task: task(n) });
      await meddleWith(run, of);
      const what = JSON.stringify(of);
      expect(await run.result(), what).toMatchObject({ status: 'completed', toolCalls: of.calls.length });
      expect(seen.get(task(n))?.wrong, what).toEqual([]);
      expect(seen.get(task(n))?.ended.sort(), what).toEqual(of.calls.map((_, index) => index));
      const results = (await validMessages(run)).filter(({ role }) => role === 'tool').map(({ text: said }) => said);
      expect(results, what).toEqual(of.calls.map(({ kind }, index) => `${kind} ${index}`));
      const history = await run.temporal.fetchHistory();
      await Worker.runReplayHistory({ workflowBundle: everlapBundle() }, history, run.id);
    }
  };
  await Promise.all(Array.from({ length: 4 }, lane));
}, 300_000);
