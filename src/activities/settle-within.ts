/** Waiting for code that may never end: after an abort it gets a little time, then it is left behind. */

/** What {@link settleWithin} gives where the work did not end in time, or ended only by throwing over the abort. */
export const ABANDONED: unique symbol = Symbol('abandoned');

/**
 * The work's value, or its rejection. Once `signal` aborts the work has `graceMs` to return a value.
 * Without this an activity that ignores its signal would hold up the worker's shutdown for ever.
 */
export async function settleWithin<T>(
  work: () => T | Promise<T>,
  signal: AbortSignal,
  graceMs: number,
): Promise<T | typeof ABANDONED> {
  if (signal.aborted) return ABANDONED;
  let timer: NodeJS.Timeout | undefined;
  let onAbort = (): void => undefined;
  const abandoned = new Promise<typeof ABANDONED>((resolve) => {
    onAbort = () => {
      timer = setTimeout(() => resolve(ABANDONED), graceMs);
    };
    signal.addEventListener('abort', onAbort, { once: true });
  });
  const result = (async (): Promise<T | typeof ABANDONED> => {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted) return ABANDONED;
      throw error;
    }
  })();
  try {
    return await Promise.race([result, abandoned]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}
