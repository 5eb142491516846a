/** One update, sent until the run has answered it: also where the run goes on in a new execution at that very moment. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';

const FAILED_PRECONDITION = 9;
/** About 15 seconds in all. */
const MAX_ATTEMPTS = 20;
const MAX_WAIT_MS = 1000;

/**
 * The id is the same over all attempts: within one execution the server tells them apart by it, over several the run
 * does (`workflows/both-doors.ts`), so the update is handled once. A new one only where no run can have seen the update.
 */
export async function sendUpdate<Answer>(send: (updateId: string) => Promise<Answer>): Promise<Answer> {
  let updateId = randomUUID();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send(updateId);
    } catch (error) {
      const isUnseen = wasUnseen(error);
      if (attempt === MAX_ATTEMPTS || !(isUnseen || isTakenBack(error))) throw error;
      if (isUnseen) updateId = randomUUID();
      await sleep(Math.min(50 * attempt, MAX_WAIT_MS));
    }
  }
}

/**
 * The server took the workflow task back that the update was part of, or takes no updates until the task is done again.
 * It does so when the run wants to continue as new and a signal comes at that moment (temporalio/temporal,
 * `service/history/workflow/update/abort_reason.go`).
 */
function isTakenBack(error: unknown): boolean {
  const { cause } = error instanceof Error ? error : { cause: undefined };
  return (
    isGrpcServiceError(cause) &&
    cause.code === FAILED_PRECONDITION &&
    /workflow task (failure|in failed state)/i.test(cause.details)
  );
}

/**
 * The execution was closed before it had accepted the update: the run goes on in another, or has ended, as the next
 * attempt is told. One of the same id would be told the same again.
 */
function wasUnseen(error: unknown): boolean {
  return error instanceof WorkflowNotFoundError && /aborted by closing workflow/i.test(error.message);
}
