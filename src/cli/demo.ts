#!/usr/bin/env node
/**
 * `npm run demo`: a Temporal server with its UI, a worker, and an agent that explores this repository and writes a report.
 * With OPENAI_API_KEY (and OPENAI_BASE_URL, EVERLAP_MODEL) a real model thinks; without, a scripted one plays.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { Command } from 'commander';
import { DEFAULT_WORKSPACES, workspaceName } from '../activities/workspaces.js';
import { EverlapClient } from '../client/everlap-client.js';
import { startDevServer, type DevServer } from '../dev/dev-server.js';
import { isFree } from '../dev/free-port.js';
import { DEMO_TASK, demoScript, startScriptedModel } from '../testing/index.js';
import { createWorker, openaiChat } from '../worker.js';
import { CliError, sentenceOf } from './cli-error.js';
import { explorer } from './demo-agent.js';
import { EXIT, exitCodeOf } from './exit-codes.js';
import { followRun } from './follow-run.js';
import { onInterrupt } from './interrupts.js';
import { endQuietlyOnBrokenPipe, exitWith, note, printLine, styled } from './output.js';
import { packageInfo } from './package-info.js';
import { runUrl } from './ui-link.js';
import { installWorkerLog } from './worker-log.js';

const PORT = 7233;
const UI_PORT = 8233;
const DEFAULT_MODEL = 'gpt-5-mini';
const TASK_QUEUE = 'everlap-demo';
/** Of its own, so that it never meets the server of another one that runs. */
const DB = join('.everlap', 'demo.db');

/** What was started, to be stopped in the other order. */
class Started {
  private readonly stops: (() => Promise<unknown>)[] = [];

  whenDone(stop: () => Promise<unknown>): void {
    this.stops.unshift(stop);
  }

  async stop(): Promise<void> {
    for (const stop of this.stops.splice(0)) await stop();
  }
}

async function demo(keep: boolean): Promise<number> {
  const { signal } = onInterrupt();
  const started = new Started();
  try {
    const model = await chooseModel(started);
    const { server, db } = await startServer(started);
    const { client, failed } = await startWorker(server, model, started);
    if (signal.aborted) throw new CliError('Interrupted: nothing was started.');
    const run = await client.start({
      agent: 'explorer',
      task: DEMO_TASK,
      id: `demo-${randomBytes(4).toString('hex')}`,
    });
    const url = runUrl(server.uiUrl ?? '', server.namespace, run.id);
    printLine(`${styled('bold', 'Run')} ${run.id}`);
    printLine(`Temporal UI: ${styled('underline', url)}`);
    const followed = await Promise.race([followRun(run, { json: false, signal }), failed]);
    if (!('result' in followed)) {
      note(db === DB ? 'Interrupted. The next `npm run demo` goes on with this run, beside its own.' : 'Interrupted.');
      return EXIT.interrupted;
    }
    printLine();
    const report = join(DEFAULT_WORKSPACES, workspaceName(run.id), 'report.md');
    printLine(existsSync(report) ? `The report: ${styled('bold', report)}` : 'No report was written.');
    if (keep) await waitForEnd(url, server, signal);
    else if (db === DB) printLine(`To look at it in the UI: npx everlap dev --no-worker --db ${db}`);
    printLine('Once more: npm run demo (and with the UI up afterwards: npm run demo -- --keep)');
    return exitCodeOf(followed.result.status);
  } finally {
    await started.stop();
  }
}

interface Model {
  readonly name: string;
  readonly provider: ReturnType<typeof openaiChat>;
}

async function chooseModel(started: Started): Promise<Model> {
  if (process.env['OPENAI_API_KEY']?.trim()) {
    const name = process.env['EVERLAP_MODEL']?.trim() || DEFAULT_MODEL;
    printLine(
      `The model is ${name}${process.env['OPENAI_BASE_URL'] ? ` at ${new URL(process.env['OPENAI_BASE_URL']).host}` : ''}.`,
    );
    return { name, provider: openaiChat() };
  }
  const scripted = await startScriptedModel({ script: demoScript({ chunkDelayMs: 50 }) });
  started.whenDone(() => scripted.close({ verify: false }));
  printLine('OPENAI_API_KEY is not set, so a scripted model plays: it does not think, but all it does is really done.');
  return { name: 'scripted', provider: openaiChat({ baseUrl: scripted.baseUrl, apiKey: 'scripted' }) };
}

async function startServer(started: Started): Promise<{ server: DevServer; db: string }> {
  // Another server on the usual port may be another demo, with the usual file open.
  const usual = await isFree(PORT);
  const db = usual ? DB : join('.everlap', `demo-${process.pid}.db`);
  const server = await startDevServer({
    port: usual ? PORT : 0,
    uiPort: (await isFree(UI_PORT)) ? UI_PORT : 0,
    dbFile: db,
    onProgress: note,
  });
  if (!usual) started.whenDone(() => Promise.all(['', '-wal', '-shm'].map((end) => rm(db + end, { force: true }))));
  started.whenDone(() => server.stop());
  return { server, db };
}

interface WorkerAndClient {
  readonly client: EverlapClient;
  /** Rejects where the worker dies; else never settles. */
  readonly failed: Promise<never>;
}

async function startWorker(
  { address, namespace }: DevServer,
  model: Model,
  started: Started,
): Promise<WorkerAndClient> {
  installWorkerLog('ERROR');
  const folder = packageInfo().folder;
  const connection = await NativeConnection.connect({ address });
  started.whenDone(() => connection.close());
  const worker = await createWorker({
    agents: [explorer(folder, model.name)],
    provider: model.provider,
    taskQueue: TASK_QUEUE,
    connection,
    namespace,
  });
  const running = worker.run();
  started.whenDone(async () => {
    if (worker.getState() === 'RUNNING') worker.shutdown();
    await running;
  });
  printLine(`Temporal and a worker run; the agent explores ${relative(process.cwd(), folder) || 'this folder'}.`);
  const forClient = await Connection.connect({ address });
  started.whenDone(() => forClient.close());
  const temporal = new Client({ connection: forClient, namespace });
  const failed = running.then(() => new Promise<never>(() => undefined));
  return { client: new EverlapClient({ client: temporal, taskQueue: TASK_QUEUE }), failed };
}

async function waitForEnd(url: string, server: DevServer, signal: AbortSignal): Promise<void> {
  printLine(`The UI stays up until Ctrl-C: ${url}`);
  if (!signal.aborted) await Promise.race([once(signal, 'abort'), server.ended]);
}

async function main(): Promise<number> {
  const options = new Command('demo')
    .description('An agent explores this repository and writes a report, on a Temporal server of its own')
    .option('--keep', 'keep server and UI up afterwards, until Ctrl-C')
    .parse()
    .opts<{ keep?: true }>();
  try {
    return await demo(options.keep === true);
  } catch (error) {
    note(`${styled('red', 'demo:', process.stderr)} ${sentenceOf(error)}`);
    return EXIT.failed;
  }
}

endQuietlyOnBrokenPipe();
await exitWith(await main());
