/**
 * What a scenario needs: a scripted model, a worker in this process on a task queue of its own, a client. Everything
 * through the package's public entries, as a user would; the Temporal server is shared by all test files.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, type LogEntry, type Worker } from '@temporalio/worker';
import { defineAgent, type AgentDefinition, type AgentOptions } from 'everlap';
import { EverlapClient, type RunHandle, type StartOptions } from 'everlap/client';
import { startScriptedModel, type ScriptedModel, type ScriptedModelOptions } from 'everlap/testing';
import { createWorker, folderArtifacts, openaiChat, type CreateWorkerOptions } from 'everlap/worker';
import { inject } from 'vitest';

/** What this file's workers have logged, for tests that look for what must not be there. Errors are shown besides. */
export const logged: LogEntry[] = [];
Runtime.install({
  logger: new DefaultLogger('INFO', (entry) => {
    logged.push(entry);
    if (entry.level === 'ERROR') console.error(entry.message, entry.meta);
  }),
});

export interface RigOptions extends ScriptedModelOptions {
  readonly agents?: readonly AgentDefinition[];
  /** Fields of the one agent `tester`, where `agents` is not given. */
  readonly agent?: Partial<AgentOptions>;
  readonly worker?: Partial<CreateWorkerOptions>;
  /** Default true. */
  readonly startWorker?: boolean;
  /** Of a server of the test's own. Default: the shared one. */
  readonly address?: string;
}

export interface Rig {
  readonly model: ScriptedModel;
  readonly client: EverlapClient;
  readonly temporal: Client;
  readonly taskQueue: string;
  readonly agent: AgentDefinition;
  /** A folder of this rig's own; removed at the end. Workspaces lie in it. */
  readonly folder: string;
  start(options?: Partial<StartOptions>): Promise<RunHandle>;
  startWorker(options?: Partial<CreateWorkerOptions>): Promise<RunningWorker>;
  /** Stops everything. Fails where the model was asked what its script does not say, or a strict provider would have refused. */
  stop(options?: { readonly verify?: boolean }): Promise<void>;
}

export interface RunningWorker {
  readonly worker: Worker;
  stop(): Promise<void>;
}

export async function startRig(options: RigOptions = {}): Promise<Rig> {
  const {
    agents,
    agent: fields,
    worker: workerOptions,
    startWorker = true,
    address = inject('temporalAddress'),
    ...script
  } = options;
  const model = await startScriptedModel(script);
  const folder = await mkdtemp(join(tmpdir(), 'everlap-test-'));
  const taskQueue = `test-${randomUUID()}`;
  const all = agents ?? [
    defineAgent({ name: 'tester', instructions: 'You are being tested.', model: 'gpt-5-mini', ...fields }),
  ];
  const agent = all[0];
  if (agent === undefined) throw new Error('A rig needs an agent.');
  const connection = await NativeConnection.connect({ address });
  const clientConnection = await Connection.connect({ address });
  const temporal = new Client({ connection: clientConnection });
  const client = new EverlapClient({ client: temporal, taskQueue });
  const workers: RunningWorker[] = [];
  const rig: Rig = {
    model,
    client,
    temporal,
    taskQueue,
    agent,
    folder,
    start: (start) => client.start({ agent, task: 'Do it.', ...start }),
    startWorker: async (more) => {
      const worker = await createWorker({
        agents: all,
        connection,
        taskQueue,
        provider: openaiChat({ baseUrl: model.baseUrl, apiKey: 'scripted' }),
        workspaces: join(folder, 'workspaces'),
        artifacts: folderArtifacts(join(folder, 'artifacts')),
        ...workerOptions,
        ...more,
      });
      const running = worker.run();
      let stopped = false;
      const one: RunningWorker = {
        worker,
        stop: async () => {
          if (!stopped) worker.shutdown();
          stopped = true;
          await running;
        },
      };
      workers.push(one);
      return one;
    },
    stop: async ({ verify = true } = {}) => {
      await Promise.all(workers.map((one) => one.stop()));
      await Promise.all([connection.close(), clientConnection.close()]);
      await rm(folder, { recursive: true, force: true });
      await model.close({ verify });
    },
  };
  if (startWorker) await rig.startWorker();
  return rig;
}

/** Waits until `check` gives something, asking again and again; fails with the last error after 20 seconds. */
export async function eventually<T>(
  check: () => Promise<T | undefined | false>,
  what = 'it',
  withinMs = 20_000,
): Promise<T> {
  const giveUpAt = Date.now() + withinMs;
  let last: unknown = `${what} did not happen`;
  while (Date.now() < giveUpAt) {
    try {
      const value = await check();
      if (value !== undefined && value !== false) return value;
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
  throw last instanceof Error ? last : new Error(`Waited in vain: ${String(last)}`);
}
