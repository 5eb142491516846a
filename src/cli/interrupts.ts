/** Ctrl-C: the first one asks, the second one ends the process at once. */
import { EXIT } from './exit-codes.js';

/** Aborts on the first SIGINT or SIGTERM. Until `stop` is called, a second one ends the process without a word. */
export function onInterrupt(): { readonly signal: AbortSignal; readonly stop: () => void } {
  const controller = new AbortController();
  const interrupted = (): void => {
    if (controller.signal.aborted) process.exit(EXIT.interrupted);
    controller.abort();
  };
  process.on('SIGINT', interrupted);
  process.on('SIGTERM', interrupted);
  const stop = (): void => {
    process.off('SIGINT', interrupted);
    process.off('SIGTERM', interrupted);
  };
  return { signal: controller.signal, stop };
}
