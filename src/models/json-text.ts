/** Small readings of JSON values of unknown shape, for everything that comes from a server. Pure. */
import { wellFormed } from '../conversation/cut-text.js';
import { depthOf, isJsonObject, MAX_DEPTH, type Json, type JsonObject } from '../conversation/json.js';

/** The parsed text, or undefined where it is no JSON, or is nested so deeply that walking through it would break a stack. */
export function parseJson(text: string): unknown {
  if (text.length > MAX_DEPTH && depthOf(text) > MAX_DEPTH) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The value if it is an object (no array, not null), else an object without fields. */
export function fieldsOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** True for a text that is one JSON object. */
export function isObjectText(text: string): boolean {
  return isJsonObject(parseJson(text));
}

/** The value with every lone surrogate in its keys and strings replaced, at any depth. */
export function wellFormedJson(value: Json): Json {
  if (typeof value === 'string') return wellFormed(value);
  if (isJsonObject(value)) {
    const entries = Object.entries(value).map(([key, inner]) => [wellFormed(key), wellFormedJson(inner)] as const);
    return Object.fromEntries(entries);
  }
  return Array.isArray(value) ? value.map((inner: Json) => wellFormedJson(inner)) : value;
}

/** How many bytes the text takes inside a JSON document in UTF-8, without its quotes. */
export function jsonBytes(text: string): number {
  let bytes = 0;
  for (let i = 0; i < text.length; i += 1) bytes += unitBytes(text.charCodeAt(i));
  return bytes;
}

/** The longest start of the text that takes at most `max` bytes inside a JSON document. Splits no surrogate pair. */
export function cutToJsonBytes(text: string, max: number): string {
  let bytes = 0;
  let end = 0;
  while (end < text.length) {
    const width = (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
    bytes += width === 2 ? 4 : unitBytes(text.charCodeAt(end));
    if (bytes > max) break;
    end += width;
  }
  return text.slice(0, end);
}

/** Half of a surrogate pair counts 2: the pair is 4 bytes of UTF-8. */
function unitBytes(unit: number): number {
  if (unit < 0x20) return unit === 0x0a || unit === 0x0d || unit === 0x09 ? 2 : 6;
  if (unit < 0x80) return unit === 0x22 || unit === 0x5c ? 2 : 1;
  if (unit < 0x800) return 2;
  return unit >= 0xd800 && unit <= 0xdfff ? 2 : 3;
}
