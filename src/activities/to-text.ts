/**
 * Any value that a tool can return or throw, as text that a model can read. Never throws, never answers with a lone
 * surrogate, and its work is bounded. Knows nothing of tools or of Temporal, and does not shorten results (the caller
 * stores large ones whole).
 */
import { types } from 'node:util';
import { cut, wellFormed } from '../conversation/cut-text.js';
import { describeError, unreadable } from './error-text.js';
import { className, isBare, isError, ownWords, peek, peekString } from './peek.js';

/** Bounds for one structure: some seconds of work. Values shared by reference can unfold without end. */
const MAX_VALUES = 2_000_000;
const MAX_CHARS = 64_000_000;
const MAX_DEPTH = 200;

const BYTES_SHOWN = 48;

/**
 * A readable string for any value whatsoever. Strings stay as they are, JSON values become compact JSON; what JSON
 * cannot say is said in its place (`NaN`, a big integer's digits, `"[circular]"`, `"[function f]"`). Bytes become
 * their UTF-8 text, or their size and first bytes. Nothing is read, awaited or iterated that could have effects.
 */
export function toText(value: unknown): string {
  if (typeof value === 'string') return wellFormed(value);
  if (value === undefined) return '(no result)';
  const writer = new Writer();
  try {
    const plain = unwrap(value);
    return wellFormed(textOf(plain) ?? writer.structure(plain));
  } catch (error) {
    return unreadable(error);
  }
}

/** Thrown inside a {@link Writer} when a bound is reached; an error only since whatever is thrown should be one. */
const FULL = new Error('The text is full.');

/** Writes one structure as compact, JSON-like text. Invariant: `ancestors` holds the objects being written right now. */
class Writer {
  private readonly parts: string[] = [];
  private readonly ancestors = new Set<unknown>();
  private chars = 0;
  private values = 0;
  private depth = 0;

  structure(value: unknown): string {
    try {
      this.write(value);
    } catch (error) {
      if (error !== FULL) throw error;
      this.parts.push(`\n[… cut here: more than ${MAX_VALUES} values or ${MAX_CHARS} characters]`);
    }
    return this.parts.join('');
  }

  private put(text: string): void {
    this.parts.push(text);
    this.chars += text.length;
    if (this.chars > MAX_CHARS) throw FULL;
  }

  private quote(text: string): void {
    this.put(JSON.stringify(cut(text, MAX_CHARS - this.chars)));
  }

  /** One bad part (a getter that throws, a revoked proxy) costs that part only. */
  private write(value: unknown): void {
    this.values += 1;
    if (this.values > MAX_VALUES) throw FULL;
    const start = this.parts.length;
    try {
      this.writeValue(value);
    } catch (error) {
      if (error === FULL) throw error;
      this.parts.length = start;
      this.quote(unreadable(error));
    }
  }

  private writeValue(value: unknown): void {
    const plain = unwrap(value);
    if (isBare(plain)) return this.put(String(plain));
    const text = textOf(plain);
    if (text !== undefined) return this.quote(text);
    if (this.ancestors.has(value) || this.ancestors.has(plain)) return this.quote('[circular]');
    if (this.depth >= MAX_DEPTH) return this.quote(`[nested deeper than ${MAX_DEPTH}]`);
    this.ancestors.add(value).add(plain);
    this.depth += 1;
    try {
      this.writeParts(plain as object);
    } finally {
      this.depth -= 1;
      this.ancestors.delete(value);
      this.ancestors.delete(plain);
    }
  }

  private writeParts(value: object): void {
    if (Array.isArray(value) || ArrayBuffer.isView(value)) return this.list(value as ArrayLike<unknown>);
    if (types.isSet(value)) return this.iterable(value);
    if (isPairs(value)) return allStrings(value.keys()) ? this.entries(value) : this.iterable(value);
    this.object(value);
  }

  private list(list: ArrayLike<unknown>): void {
    for (let index = 0; index < list.length; index += 1) {
      this.put(index === 0 ? '[' : ',');
      this.write(list[index]);
    }
    this.put(list.length === 0 ? '[]' : ']');
  }

  private iterable(values: Iterable<unknown>): void {
    this.put('[');
    let separator = '';
    for (const value of values) {
      this.put(separator);
      this.write(value);
      separator = ',';
    }
    this.put(']');
  }

  private entries(entries: Iterable<readonly [unknown, unknown]>): void {
    this.put('{');
    let separator = '';
    for (const [key, value] of entries) {
      this.put(separator);
      this.quote(String(key));
      this.put(':');
      this.write(value);
      separator = ',';
    }
    this.put('}');
  }

  /** As JSON does: own enumerable properties, without those that are undefined. */
  private object(value: object): void {
    this.put('{');
    let separator = '';
    for (const key of Object.keys(value)) {
      let property: unknown;
      try {
        property = (value as Record<string, unknown>)[key];
      } catch (error) {
        property = unreadable(error);
      }
      if (property === undefined) continue;
      this.put(separator);
      this.quote(key);
      this.put(':');
      this.write(property);
      separator = ',';
    }
    this.put('}');
  }
}

/** The text of whatever has no parts; undefined for structures. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'function') return `[function ${peekString(value, 'name') || '(anonymous)'}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  if (isError(value)) return describeError(value);
  if (types.isDate(value)) return Number.isNaN(value.getTime()) ? '[invalid date]' : value.toISOString();
  if (types.isRegExp(value)) return String(value);
  if (types.isAnyArrayBuffer(value)) return bytesText(new Uint8Array(value));
  if (types.isUint8Array(value) || types.isUint8ClampedArray(value) || types.isDataView(value)) {
    return bytesText(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  }
  if (types.isGeneratorObject(value)) return '[a generator that was not run]';
  if (value instanceof Response) {
    return `[Response ${value.status} ${value.statusText} of ${value.url || 'no URL'}; its body was not read]`;
  }
  if (value instanceof Blob)
    return `[${className(value)} of ${value.size} bytes, ${value.type || 'no type'}; not read]`;
  if (typeof peek(value, 'then') === 'function') return '[a promise that was not awaited]';
  if (typeof peek(value, Symbol.asyncIterator) === 'function' || typeof peek(value, 'pipe') === 'function') {
    return `[${className(value)}: a stream that was not read]`;
  }
  return hasParts(value) ? undefined : ownWords(value);
}

/** What JSON would put in its place: boxed primitives bare, and once whatever `toJSON` answers, if it answers. */
function unwrap(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (types.isBoxedPrimitive(value)) return value.valueOf();
  if (isError(value) || types.isDate(value) || ArrayBuffer.isView(value)) return value;
  const toJson = peek(value, 'toJSON');
  if (typeof toJson !== 'function') return value;
  try {
    return Reflect.apply(toJson, value, ['']) as unknown;
  } catch {
    return value;
  }
}

function bytesText(bytes: Uint8Array): string {
  // A decoder refuses shared memory; a copy is none.
  const own = types.isSharedArrayBuffer(bytes.buffer) ? bytes.slice() : bytes;
  try {
    const whole = own.length <= MAX_CHARS;
    const text = new TextDecoder('utf-8', { fatal: true }).decode(own.subarray(0, MAX_CHARS), { stream: !whole });
    // eslint-disable-next-line no-control-regex -- control characters are what tells binary data from text
    if (!/[\0-\x08\x0e-\x1a\x1c-\x1f]/.test(text)) return whole ? text : `${text}\n[… cut, of ${own.length} bytes]`;
  } catch {
    // No UTF-8: it is shown as binary data below.
  }
  const head = Buffer.from(own.subarray(0, BYTES_SHOWN)).toString('base64');
  const part = own.length > BYTES_SHOWN ? `the first ${BYTES_SHOWN} in base64` : 'in base64';
  return `[binary data, ${own.length} bytes; ${part}: ${head}]`;
}

function hasParts(value: object): boolean {
  if (Array.isArray(value) || ArrayBuffer.isView(value) || types.isSet(value) || isPairs(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || Object.keys(value).length > 0;
}

function isPairs(value: object): value is Map<unknown, unknown> | Headers | FormData {
  return types.isMap(value) || value instanceof Headers || value instanceof FormData;
}

function allStrings(keys: Iterable<unknown>): boolean {
  for (const key of keys) if (typeof key !== 'string') return false;
  return true;
}
