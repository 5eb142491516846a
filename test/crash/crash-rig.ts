/**
 * What a crash test needs: a scripted model, workers in processes of their own that can be killed, their effect logs, and
 * the count of what must never happen twice.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { EverlapClient, type RunHandle, type StartOptions } from 'everlap/client';
import {
  startScriptedModel,
  type RecordedRequest,
  type ScriptedModel,
  type ScriptedModelOptions,
} from 'everlap/testing';
import { inject } from 'vitest';
import { eventsOf, executionsOf, type HistoryEvent } from '../support/history.js';

const MAIN = fileURLToPath(new URL('./worker-main.js', import.meta.url));

export type Role = 'all' | 'workflows' | 'activities';

export interface WorkerProcess {
  readonly pid: number;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** SIGTERM; resolves with the exit code, null where a signal ended it. */
  terminate(): Promise<number | null>;
}

export interface CrashRig {
  readonly model: ScriptedModel;
  readonly client: EverlapClient;
  readonly temporal: Client;
  worker(role?: Role): Promise<WorkerProcess>;
  start(options?: Partial<StartOptions>): Promise<RunHandle>;
  /** A tool stands still at this place (`before-pay`, `after-pay`) until {@link release}. */
  hold(place: string): Promise<void>;
  release(place: string): Promise<void>;
  /** The words that a tool has logged: `begin`, `effect`, `reconcile`, each with its idempotency key. */
  effects(tool: string): Promise<{ word: string; key: string }[]>;
  stop(): Promise<void>;
}

export async function startCrashRig(
  script: ScriptedModelOptions,
  address: string = inject('temporalAddress'),
): Promise<CrashRig> {
  const model = await startScriptedModel(script);
  const folder = await mkdtemp(join(tmpdir(), 'everlap-crash-'));
  const taskQueue = `crash-${randomUUID()}`;
  const connection = await Connection.connect({ address });
  const temporal = new Client({ connection });
  const client = new EverlapClient({ client: temporal, taskQueue });
  const children = new Set<ChildProcess>();
  return {
    model,
    client,
    temporal,
    worker: async (role = 'all') => {
      const child = spawn(process.execPath, [MAIN], {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          ...process.env,
          TEMPORAL_ADDRESS: address,
          OPENAI_BASE_URL: model.baseUrl,
          CRASH_TASK_QUEUE: taskQueue,
          CRASH_FOLDER: folder,
          CRASH_ROLE: role,
        },
      });
      children.add(child);
      return runningWorker(child, () => children.delete(child));
    },
    // A worker that dies with a workflow task in hand is noticed by this timeout.
    start: (options) =>
      client.start({
        agent: 'crasher',
        task: 'Leave marks.',
        workflow: { workflowTaskTimeout: '1 second' },
        ...options,
      }),
    hold: (place) => writeFile(join(folder, `hold-${place}`), ''),
    release: (place) => rm(join(folder, `hold-${place}`), { force: true }),
    effects: async (tool) => {
      const text = await readFile(join(folder, `${tool}.log`), 'utf8').catch(() => '');
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => {
          const [word = '', key = ''] = line.split(' ');
          return { word, key };
        });
    },
    stop: async () => {
      await Promise.all([...children].map((child) => killed(child)));
      await connection.close();
      await rm(folder, { recursive: true, force: true });
      await model.close();
    },
  };
}

async function runningWorker(child: ChildProcess, gone: () => void): Promise<WorkerProcess> {
  const { pid, stdout, stderr } = child;
  if (pid === undefined || stdout === null || stderr === null) throw new Error('The worker process did not start.');
  let said = '';
  stderr.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-4000)));
  const ended = once(child, 'exit').then(([code]) => {
    gone();
    return typeof code === 'number' ? code : null;
  });
  await Promise.race([
    (async () => {
      for await (const line of createInterface(stdout)) if (line === 'ready') return;
    })(),
    ended,
  ]);
  stdout.resume();
  if (child.exitCode !== null) throw new Error(`The worker process ended at once:\n${said}`);
  return {
    pid,
    kill: () => killed(child),
    terminate: async () => {
      child.kill('SIGTERM');
      return ended;
    },
  };
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

/** The turn that a request asks for, from 1. Without compaction and laps. */
export function turnOf({ messages }: RecordedRequest): number {
  return messages.filter(({ role }) => role === 'assistant').length + 1;
}

/** All events of all executions of a run. */
export async function wholeHistory(rig: CrashRig, run: RunHandle): Promise<HistoryEvent[]> {
  const events: HistoryEvent[] = [];
  for (const runId of await executionsOf(rig.temporal, run.id))
    events.push(...(await eventsOf(rig.temporal, run.id, runId)));
  return events;
}

/** Requests that came for a turn whose answer was in the history already, as sentences; there should be none. */
export async function askedAgain(rig: CrashRig, run: RunHandle): Promise<string[]> {
  const answeredAt: number[] = [];
  const asked = new Set<string>();
  for (const event of await wholeHistory(rig, run)) {
    if (event.activityTaskScheduledEventAttributes?.activityType?.name === 'callModel')
      asked.add(String(event.eventId));
    const answered = event.activityTaskCompletedEventAttributes?.scheduledEventId;
    // Event ids begin anew in each execution, where no call is open.
    if (!asked.delete(String(answered))) continue;
    answeredAt.push(Number(event.eventTime?.seconds) * 1000 + (event.eventTime?.nanos ?? 0) / 1e6);
  }
  return rig.model.requests
    .filter((request) => request.arrivedAt > (answeredAt[turnOf(request) - 1] ?? Infinity))
    .map(
      (request) => `Request ${request.index} asked for turn ${turnOf(request)} after its answer was in the history.`,
    );
}

/** The words of people in a conversation, in order. */
export async function steeringIn(run: RunHandle): Promise<string[]> {
  const messages = await run.messages();
  return messages
    .filter((message) => message.role === 'user' && message.kind === 'steering')
    .flatMap(({ text }) => text.split('\n\n').map((line) => line.replace('[STEERING] ', '')));
}
