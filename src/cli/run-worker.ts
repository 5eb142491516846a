/** What `everlap worker` does: connects, runs the config's agents, and stops in order. */
import { GracefulShutdownPeriodExpiredError, NativeConnection, type LogLevel, type Worker } from '@temporalio/worker';
import { createWorker } from '../worker.js';
import { apiKeyNote } from './api-key-note.js';
import { CliError } from './cli-error.js';
import { configNeeded, loadConfig } from './config-file.js';
import { noServer, targetOf, type Target } from './connect.js';
import { count } from './figures.js';
import type { CommonFlags } from './options.js';
import { note, printLine } from './output.js';
import { installWorkerLog } from './worker-log.js';
import { linkToParent } from './worker-process.js';

export interface WorkerFlags extends CommonFlags {
  readonly logLevel: LogLevel;
}

/** Resolves when the worker was told to stop and has. @throws CliError where it could not start, or not stop in time. */
export async function runWorker(flags: WorkerFlags): Promise<void> {
  const parent = linkToParent();
  const target = targetOf(flags);
  const { config, sources } = await loadConfig(configNeeded(flags.config));
  parent?.loaded(sources);
  installWorkerLog(flags.logLevel);
  const connection = await connect(target);
  const { namespace } = target;
  const taskQueue = flags.taskQueue ?? config.taskQueue;
  const worker = await createWorker({ ...config, taskQueue, namespace, connection });
  // SIGTERM and SIGINT shut it down by the SDK's own handlers; a second one ends the process.
  const running = worker.run();
  parent?.onGone(() => stop(worker));
  const keyNote = apiKeyNote(config);
  if (keyNote !== undefined) note(keyNote);
  const names = config.agents.map((agent) => agent.name).join(', ');
  printLine(
    `Worker polls task queue ${taskQueue} at ${target.address}, namespace ${namespace}: ` +
      `${count(config.agents.length, 'agent')} (${names}).`,
  );
  parent?.polls();
  try {
    await running;
  } catch (error) {
    if (!(error instanceof GracefulShutdownPeriodExpiredError)) throw error;
    throw new CliError('The worker stopped, but something that it ran did not end in time and was left behind.', {
      cause: error,
    });
  }
  await connection.close();
  printLine('Worker stopped.');
}

/** Checks the namespace, too: the SDK's own refusal is a page long. */
async function connect({ address, namespace, how }: Target): Promise<NativeConnection> {
  const connection = await NativeConnection.connect({ ...how, address }).catch((error: unknown) => {
    throw noServer(address, error);
  });
  await connection.workflowService.describeNamespace({ namespace });
  return connection;
}

function stop(worker: Worker): void {
  if (worker.getState() === 'RUNNING') worker.shutdown();
}
