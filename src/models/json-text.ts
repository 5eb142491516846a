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
