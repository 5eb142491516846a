/**
 * Unknown fields of a provider's message, gathered over its deltas so that they can be sent back as they came
 * (reasoning, signatures). Pure.
 */
import { isJsonObject, type Json, type JsonObject } from '../conversation/json.js';

/** Streamed in pieces, to be joined. Of any other text the last one counts: signatures and ids come whole. */
const JOINED: ReadonlySet<string> = new Set([
  'reasoning_content',
  'reasoning',
  'reasoning_text',
  'thinking',
  'text',
  'summary',
]);

/** Marks of single deltas and of the whole reply, which are no part of the message. */
const NOISE: ReadonlySet<string> = new Set([
  'annotations',
  'audio',
  'channel',
  'citations',
  'content_filter_results',
  'logprobs',
  'matched_stop',
  'name',
  'parsed',
  'search_results',
  'stop_reason',
  'token_id',
  'token_ids',
  '__proto__',
]);

/** Where the items of a response, and the parts of the AI SDK's answers, are kept in `extra`: no field of any message. */
export const RESPONSES_FIELD = 'responses_output';
export const AI_SDK_FIELD = 'ai_sdk_content';
/** True where the thinking of a message came as parts of its content. */
export const THINKING_FIELD = 'thinking_in_content';
export const PLACE_FIELDS: ReadonlySet<string> = new Set([RESPONSES_FIELD, AI_SDK_FIELD, THINKING_FIELD]);

/** The fields of `delta` but `known`, put into `sum`. */
export function mergeExtra(sum: JsonObject, delta: JsonObject, known: ReadonlySet<string>): JsonObject {
  const merged: Record<string, Json> = { ...sum };
  for (const [key, value] of Object.entries(delta)) {
    if (known.has(key) || NOISE.has(key) || isNothing(value)) continue;
    merged[key] = mergeValue(key, merged[key], value);
  }
  return merged;
}

function isNothing(value: Json): boolean {
  return value === null || value === '' || (Array.isArray(value) && value.length === 0);
}

function mergeValue(key: string, old: Json | undefined, value: Json): Json {
  if (typeof old === 'string' && typeof value === 'string') return JOINED.has(key) ? old + value : value;
  if (Array.isArray(old) && Array.isArray(value)) return mergeLists(old, value);
  if (isJsonObject(old) && isJsonObject(value)) return mergeExtra(old, value, new Set());
  return value;
}

/**
 * Lists grow at their end; pieces of one entry (OpenRouter's `reasoning_details`: same type and index, one after the
 * other) become one entry again, since they must go back as the model wrote them.
 */
function mergeLists(old: readonly Json[], added: readonly Json[]): Json {
  const list = [...old];
  for (const entry of added) {
    const last = list.at(-1);
    if (isJsonObject(last) && isJsonObject(entry) && areOneEntry(last, entry)) {
      list[list.length - 1] = mergeExtra(last, entry, new Set());
    } else {
      list.push(entry);
    }
  }
  return list;
}

function areOneEntry(last: JsonObject, entry: JsonObject): boolean {
  const { type, index, id } = entry;
  if (typeof type !== 'string' || last['type'] !== type || last['index'] !== index || index === undefined) return false;
  // Encrypted entries come whole; two of them are two.
  if ('data' in entry || 'data' in last) return false;
  return typeof id !== 'string' || typeof last['id'] !== 'string' || last['id'] === id;
}
