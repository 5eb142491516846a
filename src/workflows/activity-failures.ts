/** Reading the failures of activities: what they say, and what they mean. Pure. */
import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/common';
import { NOT_LOADED, UNKNOWN_HEAD, WORKER_SHUTDOWN } from '../agents/wire.js';
import { cutText } from '../conversation/cut-text.js';

export type FailedActivity =
  /** The activity threw; `type` is a failure type of ours, or the name of the error; `detail` the first it has. */
  | { readonly kind: 'threw'; readonly type: string; readonly message: string; readonly detail?: unknown }
  /** No worker that was asked knows the activity; it surely did not run. */
  | { readonly kind: 'unregistered'; readonly message: string }
  /** Its worker was lost: nobody knows how far it came. */
  | { readonly kind: 'lost'; readonly message: string }
  /** It ran longer than allowed: nobody knows how far it came. */
  | { readonly kind: 'timeout'; readonly message: string };

/** Reads a failure; null for what is no failure of an activity. Those of local activities come without a wrapper. */
export function readFailure(error: unknown): FailedActivity | null {
  const isBare = error instanceof ApplicationFailure || error instanceof TimeoutFailure;
  if (!isBare && !(error instanceof ActivityFailure)) return null;
  const cause = isBare ? error : error.cause;
  if (cause instanceof TimeoutFailure) {
    return cause.timeoutType === 'HEARTBEAT'
      ? { kind: 'lost', message: 'the worker was lost while it ran' }
      : { kind: 'timeout', message: 'it took too long' };
  }
  const message = cutText(cause?.message ?? error.message, 2000);
  if (cause instanceof ApplicationFailure) {
    if (cause.type === 'NotFoundError' && message.includes('is not registered on this Worker')) {
      return { kind: 'unregistered', message };
    }
    return { kind: 'threw', type: cause.type ?? 'Error', message, detail: cause.details?.[0] };
  }
  return { kind: 'threw', type: 'Error', message };
}

/** Activities that were lost with their worker, and are scheduled again, before one is given up. */
export const MAX_LOST = 10;

/** The worker's end, not the model's: no attempt of the model should be counted for it. */
export function isLost(failure: FailedActivity): boolean {
  return (
    failure.kind === 'lost' ||
    failure.kind === 'unregistered' ||
    (failure.kind === 'threw' && (failure.type === WORKER_SHUTDOWN || failure.type === NOT_LOADED))
  );
}

/** The worker's code makes other hashes than the one that had the conversation before: it has to be sent anew. */
export function isUnknownHead(failure: FailedActivity): boolean {
  return failure.kind === 'threw' && failure.type === UNKNOWN_HEAD;
}
