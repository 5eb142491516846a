/** What `everlap worker` does: connects, runs the config's agents, and stops in order. */
import {
  GracefulShutdownPeriodExpiredError,
  type LogLevel,
  type NativeConnection,
  type Worker,
} from '@temporalio/worker';
import { connectNatively } from '../worker/connect.js';
import { createWorker, type DeploymentOptions } from '../worker.js';
import { apiKeyNote } from './api-key-note.js';
import { CliError } from './cli-error.js';
import { configNeeded, loadConfig } from './config-file.js';
import { ADDRESS_OPTION, targetOf, type Target } from './connect.js';
import { count } from './figures.js';
import type { CommonFlags } from './options.js';
import { note, printLine } from './output.js';
import { installWorkerLog } from './worker-log.js';
import { linkToParent } from './worker-process.js';

export interface WorkerFlags extends CommonFlags {
  readonly logLevel: LogLevel;
  readonly deployment?: string;
  readonly buildId?: string;
}

/** Resolves when the worker was told to stop and has. @throws CliError where it could not start, or not stop in time. */
export async function runWorker(flags: WorkerFlags): Promise<void> {
  const parent = linkToParent();
  const deployment = deploymentOf(flags);
  const target = targetOf(flags);
  const { config, sources } = await loadConfig(configNeeded(flags.config));
  parent?.loaded(sources);
  installWorkerLog(flags.logLevel);
  const connection = await connect(target);
  const { namespace } = target;
  const taskQueue = flags.taskQueue ?? config.taskQueue;
  const worker = await createWorker({ ...config, taskQueue, namespace, connection, ...(deployment && { deployment }) });
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
  if (deployment !== undefined) {
    const { deploymentName, buildId } = deployment;
    printLine(
      `It is version ${buildId} of ${deploymentName}, and gets new runs once that is the current version: ` +
        `temporal worker deployment set-current-version --deployment-name ${deploymentName} --build-id ${buildId}`,
    );
  }
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

/** undefined for a worker without a version. */
function deploymentOf({ deployment, buildId }: WorkerFlags): DeploymentOptions | undefined {
  if (deployment && buildId) return { deploymentName: deployment, buildId };
  if (!deployment && !buildId) return undefined;
  throw new CliError(
    'A versioned worker needs both --deployment and --build-id (or TEMPORAL_DEPLOYMENT_NAME and TEMPORAL_WORKER_BUILD_ID); give the other one too.',
  );
}

/** Checks the namespace, too: the SDK's own refusal is a page long. */
async function connect({ address, namespace, how }: Target): Promise<NativeConnection> {
  const connection = await connectNatively({ ...how, address }, ADDRESS_OPTION);
  await connection.workflowService.describeNamespace({ namespace });
  return connection;
}

function stop(worker: Worker): void {
  if (worker.getState() === 'RUNNING') worker.shutdown();
}
