/**
 * Heartbeats by timer, begun with an activity's first line: they bring cancellation in, keep a slow activity alive, and
 * carry the newest progress to whoever watches. Heartbeat details are in no history, but each beat is a write to the
 * server's database: an activity that ends before the first tick sends none.
 */
import { Context } from '@temporalio/activity';

/** How often progress is sent while there is any. The worker's own throttle must let it through. */
const PROGRESS_INTERVAL_MS = 100;
/** Heartbeats without news, for each heartbeat timeout. */
const BEATS_PER_TIMEOUT = 4;

export interface Heartbeat {
  /** Shows `details` with the next beat, within 100 ms. */
  progress(details: unknown): void;
  stop(): void;
}

/** Starts to beat. Local activities have no heartbeat timeout, and none is sent. */
export function startHeartbeat(initial?: unknown): Heartbeat {
  const context = Context.current();
  const timeout = context.info.heartbeatTimeoutMs;
  if (timeout === undefined) return { progress: () => undefined, stop: () => undefined };
  let details = initial;
  let dirty = true;
  let lastBeat = Date.now();
  const beat = (): void => {
    if (!dirty && Date.now() - lastBeat < timeout / BEATS_PER_TIMEOUT) return;
    dirty = false;
    lastBeat = Date.now();
    context.heartbeat(details);
  };
  const timer = setInterval(beat, Math.min(PROGRESS_INTERVAL_MS, timeout / BEATS_PER_TIMEOUT));
  return {
    progress: (next) => {
      details = next;
      dirty = true;
    },
    stop: () => clearInterval(timer),
  };
}
