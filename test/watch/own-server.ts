/** A Temporal server of a test's own, which may be killed, with a worker and a client on it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection, type ClientOptions } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { defineAgent, type AgentOptions } from 'everlap';
import { EverlapClient, type RunHandle } from 'everlap/client';
import { startScriptedModel, type ScriptedModel, type ScriptedModelOptions } from 'everlap/testing';
import { createWorker, openaiChat, type CreateWorkerOptions } from 'everlap/worker';
import { startDevServer, type DevServer, type DevServerOptions } from '../../src/dev/dev-server.js';

Runtime.install({ logger: new DefaultLogger('ERROR') });

export interface OwnOptions extends ScriptedModelOptions {
  readonly agent?: Partial<AgentOptions>;
  readonly server?: DevServerOptions;
  readonly worker?: CreateWorkerOptions['worker'];
  readonly client?: Omit<ClientOptions, 'connection'>;
}

export interface OwnServer {
  readonly model: ScriptedModel;
  readonly client: EverlapClient;
  readonly address: string;
  start(): Promise<RunHandle>;
  /** Returns how to stop it. */
  startWorker(): Promise<() => Promise<void>>;
  /** As a crash; then starts it again on its port and its file. */
  restartServer(whileItIsDown?: () => Promise<void>): Promise<void>;
  stop(): Promise<void>;
}

export async function startOwnServer(options: OwnOptions): Promise<OwnServer> {
  const { agent: fields, server: serverOptions, worker: workerOptions, client: clientOptions, ...script } = options;
  const folder = await mkdtemp(join(tmpdir(), 'everlap-watch-'));
  const dbFile = join(folder, 'temporal.db');
  let server: DevServer = await startDevServer({ dbFile, ...serverOptions });
  const model = await startScriptedModel(script);
  const agent = defineAgent({ name: 'tester', instructions: 'You are being tested.', model: 'gpt-5-mini', ...fields });
  const nativeConnection = await NativeConnection.connect({ address: server.address });
  const connection = await Connection.connect({ address: server.address });
  const client = new EverlapClient({ client: new Client({ ...clientOptions, connection }) });
  const stops: (() => Promise<void>)[] = [];
  return {
    model,
    client,
    address: server.address,
    start: () => client.start({ agent, task: 'Do it.' }),
    startWorker: async () => {
      const worker = await createWorker({
        agents: [agent],
        connection: nativeConnection,
        provider: openaiChat({ baseUrl: model.baseUrl, apiKey: 'scripted' }),
        workspaces: join(folder, 'workspaces'),
        ...(workerOptions && { worker: workerOptions }),
      });
      const running = worker.run();
      let stopped: Promise<void> | undefined;
      const stop = (): Promise<void> => {
        if (stopped === undefined) worker.shutdown();
        return (stopped ??= running);
      };
      stops.push(stop);
      return stop;
    },
    restartServer: async (whileItIsDown) => {
      await server.kill();
      await whileItIsDown?.();
      server = await startDevServer({ dbFile, ...serverOptions, port: server.port });
    },
    stop: async () => {
      await Promise.all(stops.map((stop) => stop()));
      await Promise.all([connection.close(), nativeConnection.close()]);
      await server.stop();
      await model.close({ verify: false });
      await rm(folder, { recursive: true, force: true });
    },
  };
}
