/** Whether somebody is there to do what a command asks for. Without a worker a run stands still and answers nothing. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowExecutionDescription } from '@temporalio/client';
import { toRunError } from '../client/errors.js';
import { unpolled } from '../dev/doctor-server.js';
import { CliError } from './cli-error.js';
import type { Session } from './connect.js';
import { note } from './output.js';

/** A worker that was started just now is listed with its first poll. */
const TRIES = 8;
const BETWEEN_MS = 250;

export async function workerPolls({ connection, target }: Session, taskQueue: string): Promise<boolean> {
  for (let left = TRIES; left > 0; left -= 1) {
    if ((await unpolled(connection, target.namespace, taskQueue)).length === 0) return true;
    if (left > 1) await sleep(BETWEEN_MS);
  }
  return false;
}

export const HOW_TO_GET_A_WORKER =
  'start one with `everlap worker` (or `everlap dev`), or name the queue of yours with --task-queue';

/**
 * For what a run itself has to answer: without a worker that would wait for ever.
 * @param what a query is answered for a run that has ended, too; a message is refused then, by the server alone.
 * @throws CliError where nobody polls its task queue; RunNotFoundError.
 */
export async function requireWorkerOf(session: Session, runId: string, what: 'query' | 'message'): Promise<void> {
  const { taskQueue, status } = await describeRun(session, runId);
  if (what === 'message' && status.name !== 'RUNNING') return;
  if (await workerPolls(session, taskQueue)) return;
  throw new CliError(
    `The run ${runId} cannot answer, since no worker polls its task queue "${taskQueue}"; start one with ` +
      '`everlap worker` (or `everlap dev`).',
  );
}

/** @throws RunNotFoundError. */
export async function describeRun({ client }: Session, runId: string): Promise<WorkflowExecutionDescription> {
  try {
    return await client.handle(runId).temporal.describe();
  } catch (error) {
    throw toRunError(error, runId, 'this');
  }
}

/**
 * Before something is started.
 * @param needed whether somebody waits for what it does.
 * @throws CliError where nobody polls the queue, and somebody waits.
 */
export async function lookForWorker(
  session: Session,
  taskQueue: string,
  { needed }: { readonly needed: boolean },
): Promise<void> {
  if (await workerPolls(session, taskQueue)) return;
  const where = `No worker polls the task queue "${taskQueue}" at ${session.target.address}`;
  if (needed) throw new CliError(`${where}, so nothing was started; ${HOW_TO_GET_A_WORKER}.`);
  note(`${where}: the run waits for one; ${HOW_TO_GET_A_WORKER}.`);
}
