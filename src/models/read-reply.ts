/**
 * Reads the body of a 200 reply to its end, or as far as it is needed, and tells what it was. Knows web streams, no
 * HTTP client; judges nothing.
 */
import { cut } from '../conversation/cut-text.js';
import { listOf, parseJson } from './json-text.js';
import type { StreamDelta } from './provider.js';
import { type SseEvent, SseParser } from './sse.js';
import { type Assembled, type ReplyAssembly, StreamAssembly } from './stream-assembly.js';

export interface Reply {
  readonly assembled: Assembled;
  /** What the body looked like. `text`: neither events nor JSON nor HTML. */
  readonly shape: 'events' | 'json' | 'html' | 'text' | 'empty';
  /** The beginning of a body that was no completion. */
  readonly excerpt: string;
  /** Why reading ended before the body did, where it was no choice of ours. */
  readonly fault?: unknown;
}

export interface ReadOptions {
  /** Makes the message of the events. Default: those of chat completions. */
  readonly assembly?: ReplyAssembly;
  readonly signal: AbortSignal;
  readonly onEvent: (delta: StreamDelta) => void;
  /**
   * How long to read on after the finish reason, in milliseconds: usage and `[DONE]` follow at once, or, with some,
   * never.
   */
  readonly lingerMs: number;
}

/** A JSON document, or one event, that is larger than this is read no further. */
const MAX_DOCUMENT_BYTES = 8_000_000;
const MAX_EXCERPT = 65_536;

/** @throws the signal's reason once it is aborted; whatever `onEvent` throws. */
export async function readReply(body: ReadableStream<Uint8Array> | null, options: ReadOptions): Promise<Reply> {
  options.signal.throwIfAborted();
  const reading = new Reading(options.assembly ?? new StreamAssembly(), options.onEvent);
  if (!body) return reading.reply(undefined);
  const reader = body.getReader();
  // A cancelled reader ends its pending read at once, also where the transport does not heed the signal.
  const stop = (): void => void reader.cancel().catch(() => undefined);
  options.signal.addEventListener('abort', stop, { once: true });
  let linger: NodeJS.Timeout | undefined;
  let fault: unknown;
  try {
    while (!reading.isOver) {
      // Once, and not anew for each read: comments would keep it alive.
      if (reading.hasFinishReason) linger ??= setTimeout(stop, options.lingerMs);
      const { done, value } = await reader.read();
      if (done) break;
      reading.push(value);
    }
    options.signal.throwIfAborted();
    reading.end();
  } catch (error) {
    options.signal.throwIfAborted();
    if (reading.isCallerFault) throw error;
    fault = error;
  } finally {
    clearTimeout(linger);
    options.signal.removeEventListener('abort', stop);
    stop();
  }
  return reading.reply(fault);
}

class Reading {
  readonly #assembly: ReplyAssembly;
  readonly #sse = new SseParser();
  readonly #decoder = new TextDecoder();
  readonly #onEvent: (delta: StreamDelta) => void;
  #shape: Reply['shape'] = 'empty';
  #document: string[] = [];
  #size = 0;
  #isOver = false;
  #isDamaged = false;
  isCallerFault = false;

  constructor(assembly: ReplyAssembly, onEvent: (delta: StreamDelta) => void) {
    this.#assembly = assembly;
    this.#onEvent = onEvent;
  }

  get isOver(): boolean {
    return this.#isOver || this.#assembly.isCut || this.#assembly.hasError;
  }

  get hasFinishReason(): boolean {
    return this.#assembly.hasFinishReason;
  }

  push(bytes: Uint8Array): void {
    this.#size += bytes.length;
    // The content type is not asked: servers tell a wrong one in both directions.
    if (this.#shape === 'empty') this.#shape = shapeOf(bytes);
    if (this.#shape === 'events') {
      for (const event of this.#sse.push(bytes)) this.#take(event, false);
      if (this.#sse.pending > MAX_DOCUMENT_BYTES)
        throw new Error(`one event has more than ${MAX_DOCUMENT_BYTES} bytes`);
      // For the excerpt, should it turn out that these are no events.
      if (this.#size > MAX_EXCERPT) return;
    }
    this.#document.push(this.#decoder.decode(bytes, { stream: true }));
    if (this.#shape === 'json' && this.#size > MAX_DOCUMENT_BYTES) {
      throw new Error(`the JSON document has more than ${MAX_DOCUMENT_BYTES} bytes`);
    }
    if (this.#shape === 'html' && this.#size > MAX_EXCERPT) this.#isOver = true;
  }

  end(): void {
    if (this.#shape === 'events' && !this.isOver) {
      for (const event of this.#sse.end()) this.#take(event, true);
    }
    if (this.#shape === 'json') {
      const parsed = parseJson(this.#document.join(''));
      // A list: Gemini's way to answer without events.
      for (const chunk of Array.isArray(parsed) ? listOf(parsed) : [parsed]) this.#feed(chunk);
      // A JSON document that can be parsed is complete.
      if (parsed !== undefined) this.#assembly.done();
    }
    if (this.#isDamaged && !this.#assembly.result().isWhole) throw new Error('an event of the stream is no JSON');
  }

  reply(fault: unknown): Reply {
    const assembled = this.#assembly.result();
    const isText = this.#shape === 'events' && !assembled.hasChoice && assembled.error === null;
    return {
      assembled,
      shape: isText && !/^(data|event|id|retry)?:/m.test(this.#document.join('')) ? 'text' : this.#shape,
      excerpt: assembled.hasChoice ? '' : cut(this.#document.join('').trim(), MAX_EXCERPT),
      ...(fault !== undefined && { fault }),
    };
  }

  #take({ event, data }: SseEvent, isAtEnd: boolean): void {
    const text = data.trim();
    // Anthropic's way to keep a connection open: a comment that looks like an event.
    if (this.isOver || text === '' || event === 'ping') return;
    if (text === '[DONE]') {
      this.#assembly.done();
      this.#isOver = true;
      return;
    }
    const parsed = parseJson(text);
    if (parsed !== undefined) this.#feed(event === 'error' ? { type: 'error', error: parsed } : parsed);
    // Some servers leave out the empty lines between events.
    else if (text.includes('\n')) for (const line of text.split('\n')) this.#take({ event, data: line }, isAtEnd);
    else if (event === 'error') this.#feed({ error: text });
    // The last one may be cut, which is no other damage than the missing end. A plain word is no chunk.
    else if (/^[[{]/.test(text) && !isAtEnd) this.#isDamaged = this.#isOver = true;
  }

  #feed(chunk: unknown): void {
    const delta = this.#assembly.feed(chunk);
    this.isCallerFault = true;
    this.#onEvent(delta);
    this.isCallerFault = false;
  }
}

/** By the first byte that is no white space; `empty` where there is none yet. */
function shapeOf(bytes: Uint8Array): Reply['shape'] {
  const text = new TextDecoder().decode(bytes.subarray(0, 64)).trimStart();
  if (text === '') return bytes.length > 64 ? 'events' : 'empty';
  if (text.startsWith('{') || text.startsWith('[')) return 'json';
  return text.startsWith('<') ? 'html' : 'events';
}
