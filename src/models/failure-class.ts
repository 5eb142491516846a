/**
 * What a failed model call means: status, headers and raw body, or an error object out of a 200 stream, to a class, a
 * sentence and a wait. Pure. The classes are those of the table in the documentation of model calls.
 */
import { cut, wellFormed } from '../conversation/cut-text.js';
import { type ErrorWords, readErrorBody, readErrorValue } from './error-words.js';
import * as known from './failure-words.js';
import type { FailureClass } from './provider.js';
import { redact } from './redact.js';
import { type HeaderReader, retryAfterMs, waitInWords } from './retry-after.js';

export interface Failure {
  readonly failureClass: FailureClass;
  /** What happened and, where there is something, what to do. At most 2,000 characters; never a key. */
  readonly sentence: string;
  readonly status?: number;
  readonly retryAfterMs?: number;
}

/** Who was asked, for the sentence. */
export interface FailureContext {
  readonly model: string;
  /** The server's host name. */
  readonly server: string;
  /** Where the key comes from, e.g. `OPENAI_API_KEY`. */
  readonly keySource: string;
  /** Never to be quoted. */
  readonly secrets: readonly string[];
  readonly nowMs: number;
}

export const MAX_SENTENCE = 2000;

/** A reply with an HTTP error status. `body` is the raw text, which may be cut. */
export function failureOfReply(
  reply: { readonly status: number; readonly headers?: HeaderReader; readonly body: string },
  context: FailureContext,
): Failure {
  const words = readErrorBody(reply.body);
  const failureClass = classOf(reply.status, words);
  const wait = retryAfterMs(reply.headers, context.nowMs) ?? waitInWords(words.text);
  return {
    failureClass,
    sentence: sentenceOf(failureClass, String(reply.status), words.text, context),
    status: reply.status,
    ...(failureClass === 'transient' && wait !== undefined && { retryAfterMs: wait }),
  };
}

/** An error inside a 200: the chunk that told it, its `error` object, or a text. */
export function failureOfError(error: unknown, context: FailureContext): Failure {
  const words = typeof error === 'string' ? readErrorBody(error) : readErrorValue(error);
  const failureClass = classOf(words.status, words);
  const wait = waitInWords(words.text);
  return {
    failureClass,
    sentence: sentenceOf(failureClass, `${words.status ?? 'an error'} inside its answer`, words.text, context),
    ...(words.status !== undefined && { status: words.status }),
    ...(failureClass === 'transient' && wait !== undefined && { retryAfterMs: wait }),
  };
}

/** A failure that has no words of the server: the sentence goes on after the model and the server. */
export function failureOf(failureClass: FailureClass, happened: string, context: FailureContext): Failure {
  return { failureClass, sentence: clean(`${who(context)} ${happened}`, context.secrets) };
}

export function classOf(status: number | undefined, words: ErrorWords): FailureClass {
  const has = (codes: readonly string[], wordings: readonly RegExp[] = []) =>
    codes.some((code) => words.codes.has(code)) || wordings.some((wording) => wording.test(words.text));

  if (status === 402) return 'quota';
  if (has(known.MALFORMED_CALL_CODES)) return 'transient';
  const isServerFault = status !== undefined && status >= 500;
  // Gemini says "check quota" and "exceeded your current quota" of any rate limit.
  const isGoogleRate = words.codes.has('resource_exhausted');
  if (!isServerFault && !isGoogleRate && has(known.QUOTA_CODES, known.QUOTA_WORDS)) return 'quota';
  if (has(known.FILTER_CODES, isServerFault || status === 429 ? [] : known.FILTER_WORDS)) return 'content_filter';
  if (status === 401 || status === 403) return 'auth';
  // Before the overflow: "tokens per minute" is said with the same words, and waiting helps there.
  if (status === 429) return 'transient';
  if (status === 413 || has(known.OVERFLOW_CODES, known.OVERFLOW_WORDS)) return 'overflow';
  if (!isServerFault && has(known.AUTH_CODES, known.AUTH_WORDS)) return 'auth';
  if (status === undefined) {
    const mayPass = [...words.codes].some((code) => known.TRANSIENT_CODE.test(code));
    return !mayPass && has(known.BAD_REQUEST_CODES) ? 'bad_request' : 'transient';
  }
  if (isServerFault || status < 400 || TRANSIENT_4XX.has(status)) return 'transient';
  return 'bad_request';
}

/** Timeout, conflict, too early, Groq's "capacity exceeded", a proxy's "client closed". */
const TRANSIENT_4XX: ReadonlySet<number> = new Set([408, 409, 425, 498, 499]);

function sentenceOf(failureClass: FailureClass, answered: string, text: string, context: FailureContext): string {
  const said = text === '' ? 'no explanation' : text.replace(/\s+/g, ' ');
  const words = `${who(context)} ${PHRASES[failureClass].replace('$', answered)}: ${said}`;
  const advice = failureClass === 'auth' ? `Check the API key in ${context.keySource}.` : ADVICE[failureClass];
  const full = advice ? `${/[.!?]$/.test(words) ? words : `${words}.`} ${advice}` : words;
  if (full.length <= MAX_SENTENCE || !advice) return clean(full, context.secrets);
  // The advice survives the cut.
  return `${clean(words, context.secrets, MAX_SENTENCE - advice.length - 2)}… ${advice}`;
}

const PHRASES: Readonly<Record<FailureClass, string>> = {
  transient: 'answered $, which may pass',
  stalled: 'stalled ($)',
  auth: 'refused the API key ($)',
  quota: 'says that the quota is used up ($)',
  overflow: 'says that the conversation is too long for it ($)',
  content_filter: 'stopped at its content filter ($)',
  bad_request: 'refused the request ($)',
};

const ADVICE: Readonly<Partial<Record<FailureClass, string>>> = {
  quota: 'Add credit or raise the limit with the provider.',
};

function who(context: FailureContext): string {
  return `Model ${context.model} at ${context.server}`;
}

function clean(text: string, secrets: readonly string[], max = MAX_SENTENCE): string {
  return cut(redact(wellFormed(text), secrets), max);
}
