/**
 * The steps of a script: what the scripted model does with one request, and the short functions that write them.
 * Plain data (but for gates); knows nothing of HTTP: `play.ts` plays them.
 */
import type { JsonObject } from '../conversation/json.js';
import type { Wait } from './gate.js';

export type Step = AnswerStep | RawStep | NoReplyStep;

/** When and in which pieces the bytes of a reply are sent. Times in milliseconds, all 0 by default. */
export interface Timing {
  /** Held here before anything is sent, headers included. */
  readonly waitFor?: Wait;
  /** Then waits so long before the headers. */
  readonly delayMs?: number;
  /** Bytes per network write, wherever that cuts; default: one write per event. */
  readonly bytesPerWrite?: number;
  /** Between two writes. */
  readonly writeDelayMs?: number;
}

/** A reply in the chat completions format: streamed if the request asks for a stream, else one JSON object. */
export interface AnswerStep extends Timing {
  readonly kind: 'answer';
  /** Cut into pieces of `pieceChars`; a list is sent as the pieces that it has. */
  readonly text?: string | readonly string[];
  /** As `reasoning_content`, before the text. Cut like `text`. */
  readonly reasoning?: string | readonly string[];
  readonly calls?: readonly ScriptedCall[];
  /** Default `tool_calls` with calls, else `stop`. null: the stream never says any. */
  readonly finish?: string | null;
  /**
   * Default: an estimate of a quarter of the characters sent and received; streamed only where the request asks for it by
   * `stream_options.include_usage`, as OpenAI does. An object or null is always sent, `'absent'` never.
   */
  readonly usage?: ScriptedUsage | null | 'absent';
  /** Default: the model that was asked for. */
  readonly model?: string;
  /** More fields of the message (signatures and the like), in the first chunk. */
  readonly extra?: JsonObject;
  /** Characters (whole code points) per chunk of text, reasoning and arguments. Default 16. */
  readonly pieceChars?: number;
  /** Whether several calls are streamed turn by turn instead of one after the other. */
  readonly interleave?: boolean;
  /** Between two chunks. */
  readonly chunkDelayMs?: number;
  /** Held here after so many chunks. 0: after the headers. The first chunk only tells the role. */
  readonly holdAfter?: { readonly chunks: number; readonly until: Wait };
  /** Default: finish reason, usage, `[DONE]`. */
  readonly ending?: Ending;
}

export interface ScriptedCall {
  readonly name: string;
  /** A string is sent as it is, whether JSON or not. */
  readonly arguments: JsonObject | string;
  /** Default `call_<index of the request>_<place>`. '' is sent as it is; null: the field is left out. */
  readonly id?: string | null;
  /** Default: its place. null: the field is left out, and the call is sent whole in one chunk. */
  readonly index?: number | null;
  /** More fields of the call. */
  readonly extra?: JsonObject;
}

/** Tokens, by the names that they have on the wire. `total_tokens` defaults to the sum. */
export interface ScriptedUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens?: number;
  readonly prompt_tokens_details?: { readonly cached_tokens?: number };
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number };
}

/** How an answer ends other than well, after `afterChunks` chunks. Default: after all of them but the finish reason. */
export type Ending = {
  readonly afterChunks?: number;
} & (
  | {
      /** The socket is destroyed, with half of one more line sent if `midLine`. */ readonly kind: 'cut';
      readonly midLine?: boolean;
    }
  | { /** The stream ends properly, but there is no finish reason and no `[DONE]`. */ readonly kind: 'clean' }
  | {
      /** One more event: `{ error }`, named `event: error` if `named`. Then the stream ends properly. */
      readonly kind: 'error';
      readonly error: JsonObject;
      readonly named?: boolean;
    }
  | {
      /** Nothing more, or only comments, until the client goes. */
      readonly kind: 'silence';
      readonly commentsEveryMs?: number;
    }
);

/** Status, headers and bytes as they are. */
export interface RawStep extends Timing {
  readonly kind: 'raw';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  /** After the body: end properly (default), destroy the socket, or stay open until the client goes. */
  readonly then?: 'end' | 'cut' | 'silence';
}

/** Not even headers. */
export interface NoReplyStep extends Timing {
  readonly kind: 'no_reply';
  readonly then: 'cut' | 'silence';
}

export type AnswerOptions = Omit<AnswerStep, 'kind'>;

/** A text and no calls. */
export function text(words: string | readonly string[], options: AnswerOptions = {}): AnswerStep {
  return { ...options, kind: 'answer', text: words };
}

/** One call; with a text before it by `options.text`. */
export function call(
  name: string,
  args: JsonObject | string = {},
  { id, index, ...options }: AnswerOptions & Pick<ScriptedCall, 'id' | 'index'> = {},
): AnswerStep {
  const one = { name, arguments: args, ...(id !== undefined && { id }), ...(index !== undefined && { index }) };
  return { ...options, kind: 'answer', calls: [one] };
}

/** Several calls in one answer. */
export function calls(list: readonly ScriptedCall[], options: AnswerOptions = {}): AnswerStep {
  return { ...options, kind: 'answer', calls: list };
}

/** Anything that an answer can be, nothing at all included: `answer()` is the empty one. */
export function answer(options: AnswerOptions = {}): AnswerStep {
  return { ...options, kind: 'answer' };
}

/** The socket dies within the answer. */
export function cut(
  step: AnswerStep,
  options: { readonly afterChunks?: number; readonly midLine?: boolean } = {},
): AnswerStep {
  return { ...step, ending: { kind: 'cut', ...options } };
}

/** The stream ends properly, without finish reason and `[DONE]`. */
export function cleanEnd(step: AnswerStep, options: { readonly afterChunks?: number } = {}): AnswerStep {
  return { ...step, ending: { kind: 'clean', ...options } };
}

/** An error object within the stream. */
export function inStreamError(
  step: AnswerStep,
  error: JsonObject,
  options: { readonly afterChunks?: number; readonly named?: boolean } = {},
): AnswerStep {
  return { ...step, ending: { kind: 'error', error, ...options } };
}

/** The answer falls silent, its stream open until the client goes; with comments alone if `commentsEveryMs`. */
export function fallSilent(
  step: AnswerStep,
  options: { readonly afterChunks?: number; readonly commentsEveryMs?: number } = {},
): AnswerStep {
  return { ...step, ending: { kind: 'silence', ...options } };
}

/** Headers (unless `headers: false`) and then nothing, or comments alone, until the client goes. */
export function silence({
  headers = true,
  commentsEveryMs,
  ...timing
}: Timing & {
  readonly headers?: boolean;
  readonly commentsEveryMs?: number;
} = {}): Step {
  if (!headers) return { ...timing, kind: 'no_reply', then: 'silence' };
  const comments = commentsEveryMs === undefined ? {} : { commentsEveryMs };
  return { ...timing, kind: 'answer', ending: { kind: 'silence', afterChunks: 0, ...comments } };
}

/** The socket is destroyed before any header. */
export function hangUp(timing: Timing = {}): NoReplyStep {
  return { ...timing, kind: 'no_reply', then: 'cut' };
}

export interface HttpErrorOptions extends Timing {
  /** The words of the error object. Ignored with `body`. */
  readonly message?: string;
  readonly type?: string;
  readonly code?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Instead of OpenAI's `{ error: { message, type, param, code } }`. An object is sent as JSON. */
  readonly body?: string | JsonObject | readonly JsonObject[];
}

/** A reply with an error status. */
export function httpError(status: number, options: HttpErrorOptions = {}): RawStep {
  const {
    message = `Scripted error ${status}.`,
    type = 'scripted_error',
    code = null,
    headers,
    body,
    ...timing
  } = options;
  const sent = body ?? { error: { message, type, param: null, code } };
  return {
    ...timing,
    kind: 'raw',
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof sent === 'string' ? sent : JSON.stringify(sent),
  };
}

export interface RawOptions extends Timing {
  /** Default 200. */
  readonly status?: number;
  /** Default: `content-type: text/event-stream`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly then?: RawStep['then'];
}

/** Bytes as they are: recorded exchanges, formats that no helper here writes. */
export function raw(body: string | Uint8Array, options: RawOptions = {}): RawStep {
  const { status = 200, headers = { 'content-type': 'text/event-stream' }, ...rest } = options;
  return { ...rest, kind: 'raw', status, headers, body };
}

/** A web page instead of an answer, with status 200 unless told otherwise. */
export function html(page = '<!DOCTYPE html><html><body>Sign in</body></html>', options: RawOptions = {}): RawStep {
  return raw(page, { headers: { 'content-type': 'text/html; charset=utf-8' }, ...options });
}

/** 200 and not one byte. */
export function emptyBody(options: RawOptions = {}): RawStep {
  return raw('', options);
}
