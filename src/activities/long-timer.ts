/** A timer for durations that people write: `setTimeout` fires at once for what is longer than it can hold. */

/** About 24.8 days, the most that `setTimeout` takes. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/**
 * Calls `then` after `ms` milliseconds; returns how to call it off. A longer time than `setTimeout` can hold never
 * comes: Temporal's own timeout, which every activity has beside it, does.
 */
export function afterMs(ms: number, then: () => void): () => void {
  if (ms > MAX_TIMEOUT_MS) return () => undefined;
  const timer = setTimeout(then, ms);
  return () => clearTimeout(timer);
}
