/**
 * What an error body says: its words and codes, from every shape that servers give errors. Pure; judges nothing.
 * Shapes: `{error: {message, type, code}}`, `{error: "…"}`, `{object: "error", message}` (vLLM), `{detail: "…"}` and
 * `{detail: [{loc, msg}]}` (FastAPI), an array of one error (Gemini), an error inside a text inside an error
 * (OpenRouter's `metadata.raw`), HTML, plain text, nothing.
 */
import { isJsonObject, type JsonObject } from '../conversation/json.js';
import { parseJson } from './json-text.js';

export interface ErrorWords {
  /** For people: every message once, outermost first. */
  readonly text: string;
  /** Lower-case values of `code`, `type`, `status` and the like. */
  readonly codes: ReadonlySet<string>;
  /** The HTTP status that the body itself tells, as errors inside a 200 do. */
  readonly status?: number;
  /** Places that the error points at: `param`, `loc`. */
  readonly places: readonly string[];
}

const MESSAGES: ReadonlySet<string> = new Set([
  'message',
  'msg',
  'detail',
  'details',
  'error',
  'error_description',
  'error_msg',
  'status_msg',
  'title',
  'description',
  'raw',
]);
const CODES: ReadonlySet<string> = new Set([
  'code',
  'type',
  'status',
  'reason',
  'error_code',
  'error_type',
  'finish_reason',
]);
const STATUSES: ReadonlySet<string> = new Set(['code', 'status', 'status_code', 'http_code', 'error_code']);
/** Quotes of what was asked or answered: nothing in them is the server's word. */
const QUOTES: ReadonlySet<string> = new Set([
  'failed_generation',
  'input',
  'messages',
  'prompt',
  'flagged_input',
  'usage',
  'delta',
]);
const MAX_NODES = 500;

/** Reads a raw error body. */
export function readErrorBody(body: string): ErrorWords {
  const parsed = parseJson(body);
  const words = readErrorValue(parsed ?? body);
  if (words.text !== '') return words;
  return { ...words, text: /^\s*</.test(body) ? htmlText(body) : body.trim() };
}

/** Reads an error that is parsed already: an object, a list, or a text. */
export function readErrorValue(value: unknown): ErrorWords {
  const texts = new Set<string>();
  const codes = new Set<string>();
  const places: string[] = [];
  let status: number | undefined;
  // Breadth first: the outermost words and status count most.
  const queue: unknown[] = [value];
  for (let i = 0; i < queue.length && i < MAX_NODES; i += 1) {
    const node = queue[i];
    if (Array.isArray(node)) queue.push(...(node as readonly unknown[]).slice(0, MAX_NODES));
    else if (isJsonObject(node)) visit(node);
  }
  return { text: [...texts].join(' · '), codes, places, ...(status !== undefined && { status }) };

  function visit(node: JsonObject): void {
    for (const [key, inner] of Object.entries(node)) {
      if (QUOTES.has(key)) continue;
      if (CODES.has(key) && (typeof inner === 'string' || typeof inner === 'number')) {
        codes.add(String(inner).toLowerCase());
      }
      if (STATUSES.has(key)) status ??= httpStatus(inner);
      if (key === 'retryDelay' && typeof inner === 'string') texts.add(`retry in ${inner}`);
      if (key === 'param' && typeof inner === 'string') places.push(inner);
      if (key === 'loc' && Array.isArray(inner)) places.push(inner.join('.'));
      if (MESSAGES.has(key) && typeof inner === 'string') addText(inner);
      else if (typeof inner === 'object') queue.push(inner);
    }
  }

  function addText(words: string): void {
    const nested = /^\s*[[{]/.test(words) ? parseJson(words) : undefined;
    if (typeof nested === 'object' && nested !== null) queue.push(nested);
    else if (words.trim() !== '') texts.add(words.trim());
  }
}

function httpStatus(value: unknown): number | undefined {
  const status = typeof value === 'number' ? value : typeof value === 'string' ? Number(value) : Number.NaN;
  return Number.isInteger(status) && status >= 400 && status <= 599 ? status : undefined;
}

function htmlText(html: string): string {
  const title = /<title[^>]*>([^<]*)<\/title>/i.exec(html)?.[1]?.trim();
  if (title) return `an HTML page, "${title}"`;
  const text = html
    .replace(/<(script|style)[\s\S]*?(<\/\1>|$)/gi, ' ')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return text === '' ? 'an HTML page' : `an HTML page, "${text}"`;
}
