/**
 * One POST to a server of OpenAI's kind, through the `openai` client. Error bodies are read here, raw and bounded: the client
 * throws away those without an `error` object, and reads the others whole, whatever their size.
 */
import OpenAI from 'openai';
import type { JsonObject } from '../conversation/json.js';
import { causesOf, isSilence } from './causes.js';
import type { ChatTarget } from './chat-target.js';
import { type Failure, failureOf } from './failure-class.js';
import type { HeaderReader } from './retry-after.js';

export interface Refused {
  readonly status: number;
  readonly headers: HeaderReader;
  readonly body: string;
}

export interface Accepted {
  readonly stream: ReadableStream<Uint8Array> | null;
}

const MAX_ERROR_BYTES = 65_536;
/** For an error body that never ends: what has come until then must do. */
const ERROR_BODY_MS = 5_000;
/** The client's own limit ends with the headers; the caller has better ones, so it is out of the way. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;

/** @throws the signal's reason once it is aborted. */
export async function postRequest(
  target: ChatTarget,
  path: string,
  body: JsonObject,
  signal: AbortSignal,
  fetch: typeof globalThis.fetch = globalThis.fetch,
): Promise<Accepted | Refused | Failure> {
  let refused: Refused | undefined;
  const client = new OpenAI({
    // The client insists on a key; without one, the header is taken out below.
    apiKey: target.apiKey ?? 'none',
    adminAPIKey: null,
    baseURL: target.baseUrl,
    ...(target.organization !== undefined && { organization: target.organization }),
    defaultHeaders: { ...(target.apiKey === undefined && { Authorization: null }), ...target.headers },
    maxRetries: 0,
    timeout: NO_TIMEOUT_MS,
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      if (response.ok) return response;
      refused = { status: response.status, headers: response.headers, body: await readBounded(response.body, signal) };
      throw new Error('refused');
    },
  });
  try {
    const response = await client.post(path, { body, signal, stream: true }).asResponse();
    return { stream: response.body };
  } catch (error) {
    signal.throwIfAborted();
    return refused ?? connectionFailure(error, target);
  }
}

async function readBounded(body: ReadableStream<Uint8Array> | null, signal: AbortSignal): Promise<string> {
  if (!body) return '';
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const stop = (): void => void reader.cancel().catch(() => undefined);
  const timer = setTimeout(stop, ERROR_BODY_MS);
  signal.addEventListener('abort', stop, { once: true });
  let text = '';
  try {
    for (let size = 0; size < MAX_ERROR_BYTES;) {
      const { done, value } = await reader.read();
      if (done) break;
      text += decoder.decode(value.subarray(0, MAX_ERROR_BYTES - size), { stream: true });
      size += value.length;
    }
  } catch {
    // The status is known; of a body that broke off, the beginning has to do.
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
    stop();
  }
  return text;
}

function connectionFailure(error: unknown, { context }: ChatTarget): Failure {
  const reasons = causesOf(error);
  const happened = `could not be asked, the connection failed: ${reasons.join(', ')}`;
  const failureClass = isSilence(reasons) ? 'stalled' : 'transient';
  return failureOf(failureClass, happened, { ...context, nowMs: 0 });
}
