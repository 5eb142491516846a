/** Requests that outlive lost connections and restarted servers. Knows nothing of what is asked. */
import { isGrpcServiceError } from '@temporalio/client';
import { ABORTED, pause, unlessAborted } from '../waiting/interruptible.js';

export interface Persistence {
  readonly signal: AbortSignal;
  /** Told of a failed request that will be made again. */
  readonly onRetry?: (error: Error) => void;
}

const FIRST_BACKOFF_MS = 200;
const MAX_BACKOFF_MS = 5000;

/** gRPC status codes that another try does not change. */
const FINAL_CODES: ReadonlySet<number> = new Set([
  3, // INVALID_ARGUMENT
  5, // NOT_FOUND
  7, // PERMISSION_DENIED
  9, // FAILED_PRECONDITION
  12, // UNIMPLEMENTED
  16, // UNAUTHENTICATED
]);

/** Asks until there is an answer; ABORTED when the signal aborts. @throws what another try would not change. */
export async function persistently<T>(
  { signal, onRetry }: Persistence,
  ask: () => Promise<T>,
): Promise<T | typeof ABORTED> {
  for (let backoff = FIRST_BACKOFF_MS; !signal.aborted; backoff = Math.min(backoff * 2, MAX_BACKOFF_MS)) {
    try {
      return await unlessAborted(ask(), signal);
    } catch (error) {
      if (!(error instanceof Error) || !isPassing(error)) throw error;
      onRetry?.(error);
      await pause(backoff, signal);
    }
  }
  return ABORTED;
}

/** The client wraps the server's error for some requests, for others not. */
function isPassing(error: unknown): boolean {
  if (isGrpcServiceError(error)) return !FINAL_CODES.has(error.code);
  return error instanceof Error && error.cause !== undefined && isPassing(error.cause);
}
