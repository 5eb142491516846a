/** Waiting that an abort ends at once, whatever is waited for. Knows nothing of what that is. */

/** What an interrupted wait gives. */
export const ABORTED: unique symbol = Symbol('aborted');

/** The promise's outcome, or ABORTED as soon as the signal aborts; what the promise does after that is nobody's concern. */
export async function unlessAborted<T>(promise: PromiseLike<T>, signal: AbortSignal): Promise<T | typeof ABORTED> {
  let stop = (): void => undefined;
  const aborted = new Promise<typeof ABORTED>((resolve) => {
    stop = () => resolve(ABORTED);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** The promise's outcome, or a rejection with the signal's reason as soon as it aborts. */
export async function untilAborted<T>(promise: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  const outcome = await unlessAborted(promise, signal);
  if (outcome === ABORTED) throw signal.reason;
  return outcome;
}

/** Resolves after `ms`, or at once when the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  await unlessAborted(new Promise<void>((resolve) => (timer = setTimeout(resolve, ms))), signal);
  clearTimeout(timer);
}
