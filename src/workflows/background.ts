/** Work that goes on beside a run's own, until it is stopped. */
import { CancellationScope, isCancellation } from '@temporalio/workflow';

/**
 * Starts it; returns how to stop it.
 * @param failed what to do where it fails, rather than being stopped. Default: it fails the workflow task.
 */
export function inBackground(work: () => Promise<void>, failed: (error: unknown) => void = rethrow): () => void {
  const scope = new CancellationScope();
  scope.run(work).catch((error: unknown) => {
    if (!isCancellation(error)) failed(error);
  });
  return () => scope.cancel();
}

function rethrow(error: unknown): never {
  throw error;
}
