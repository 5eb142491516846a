/** Why a run has failed, in its own words: for those who hear only that it is there no more. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { endOf } from './await-result.js';
import { RunEndedError } from './errors.js';

/** A run tells those who wait for it just before it is closed. About two seconds in all. */
const MAX_TRIES = 20;
const BETWEEN_MS = 100;

/** The error with the sentence of the run that it is about, where that one has failed; else as it is. */
export async function withReason(client: Client, error: unknown): Promise<unknown> {
  if (!(error instanceof RunEndedError)) return error;
  const { message, cause, runId, status } = error;
  if (runId === undefined || (status !== undefined && status !== 'failed')) return error;
  // The reason is an extra: what is wrong with the server must not hide the error itself.
  const reason = await ownSentence(client, runId, status === 'failed').catch(() => undefined);
  return reason === undefined
    ? error
    : new RunEndedError(`${message} It failed: ${reason}`, { cause, runId, status: 'failed' });
}

/** @param isAboutToClose Otherwise one that is open is another run, which has followed under the same id. */
async function ownSentence(client: Client, id: string, isAboutToClose: boolean): Promise<string | undefined> {
  for (let tries = 1; ; tries += 1) {
    const { status, runId } = await client.workflow.getHandle(id).describe();
    if (status.name === 'FAILED') {
      const ended = await endOf(client, { workflowId: id, runId });
      return typeof ended === 'string' ? undefined : ended.error;
    }
    if (status.name !== 'RUNNING' || !isAboutToClose || tries === MAX_TRIES) return undefined;
    await sleep(BETWEEN_MS);
  }
}
