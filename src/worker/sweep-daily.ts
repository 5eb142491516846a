/** Old artifacts are deleted by workers, while they run. Knows no kind of store. */
import type { LogLevel } from '@temporalio/worker';
import type { ArtifactStore } from '../artifacts/artifact-store.js';
import { errorText } from '../activities/error-text.js';

const DAY_MS = 24 * 3600 * 1000;
/** What a sweep does not get done by then is left to the next one. */
const SWEEP_WITHIN_MS = 10 * 60_000;

type Log = (level: LogLevel, message: string) => void;

/** Sweeps now and every day. Returns how to stop that. Where a sweep fails, the worker goes on, and its log says so. */
export function sweepDaily(store: ArtifactStore, log: Log): () => void {
  if (store.sweep === undefined) return () => undefined;
  const stop = new AbortController();
  const sweep = async (): Promise<void> => {
    try {
      await store.sweep?.(AbortSignal.any([stop.signal, AbortSignal.timeout(SWEEP_WITHIN_MS)]));
    } catch (error) {
      if (stop.signal.aborted) return;
      log('WARN', `Old results of tools were not all deleted; it is tried again tomorrow: ${errorText(error)}`);
    }
  };
  void sweep();
  const timer = setInterval(() => void sweep(), DAY_MS);
  return () => {
    clearInterval(timer);
    stop.abort();
  };
}
