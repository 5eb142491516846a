/**
 * HTML as readable text, in a thread of its own: a page can be made so that reading it takes minutes or breaks the stack, and
 * the worker has other things to do meanwhile.
 */
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import { ToolError } from '../agents/tool-error.js';
import { errorText } from '../activities/error-text.js';

/** Usual pages of 2 MB take less than a second. */
const LIMIT_MS = 10_000;
const MAX_MEMORY_MB = 512;

/** Text with its headings, lists, tables and links; no pictures, no layout. */
const CONVERT = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { convert } = require(workerData.library);
  parentPort.postMessage(convert(workerData.html, { wordwrap: false, selectors: [{ selector: 'img', format: 'skip' }] }));
`;

/** @throws ToolError where that is not done in time, or at all; the signal's reason where it was aborted. */
export async function readableText(html: string, signal: AbortSignal, limitMs = LIMIT_MS): Promise<string> {
  signal.throwIfAborted();
  const library = createRequire(import.meta.url).resolve('html-to-text');
  const thread = new Worker(CONVERT, {
    eval: true,
    workerData: { library, html },
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MB },
  });
  let timer: NodeJS.Timeout | undefined;
  let abort = (): void => undefined;
  try {
    return await new Promise<string>((resolve, reject) => {
      thread.once('message', resolve);
      thread.once('error', (error) =>
        reject(new ToolError(`The page cannot be made readable: ${errorText(error)}`, { cause: error })),
      );
      timer = setTimeout(
        () => reject(new ToolError(`The page cannot be made readable: it took longer than ${limitMs / 1000} seconds.`)),
        limitMs,
      );
      abort = () => reject(signal.reason as Error);
      signal.addEventListener('abort', abort, { once: true });
    });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
    await thread.terminate();
  }
}
