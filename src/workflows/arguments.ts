/**
 * What people send into a run, checked: whatever they typed becomes a value, or a sentence on why it is none. Pure, and
 * without zod: a schema library in the sandbox would cost every parked run more memory than its own state.
 */
import { DefinitionError } from '../agents/definition-error.js';
import { parseLimits, type Limits } from '../agents/limits.js';
import { wellFormed } from '../conversation/cut-text.js';
import { jsonBytes } from '../conversation/json-bytes.js';
import type { ForceFinish, QueuedText } from './run-state.js';

export type Refused = { readonly refused: string };

export function isRefused(value: unknown): value is Refused {
  return typeof value === 'object' && value !== null && 'refused' in value;
}

/** Characters of one text: it has to fit a message, a payload and a model. */
const MAX_TEXT = 200_000;
/** Its bytes as JSON: that many characters of any script, but not of escapes alone. */
const MAX_TEXT_BYTES = 600_100;

/** What a person typed as `steer` or `followUp`: a text, or `{ text, id? }`. A sentence where it is neither. */
export function parseText(argument: unknown): QueuedText | Refused {
  if (typeof argument === 'string') return checked(argument, undefined);
  if (typeof argument === 'object' && argument !== null && 'text' in argument && typeof argument.text === 'string') {
    const id = 'id' in argument ? argument.id : undefined;
    if (id === undefined || id === null) return checked(argument.text, undefined);
    if (typeof id === 'string' && id !== '' && id.length <= 200) return checked(argument.text, id);
    return { refused: 'id must be a text of 1 to 200 characters.' };
  }
  return { refused: 'Give a text, or an object { "text": "…", "id": "…" }.' };
}

function checked(text: string, id: string | undefined): QueuedText | Refused {
  if (text.trim() === '') return { refused: 'The text is empty.' };
  if (text.length > MAX_TEXT) {
    return {
      refused: `The text has ${text.length} characters; ${MAX_TEXT} is the most. Put it into a file and name it.`,
    };
  }
  const whole = wellFormed(text);
  const bytes = jsonBytes(whole);
  if (bytes > MAX_TEXT_BYTES) {
    return {
      refused: `The text has ${bytes} bytes as JSON; ${MAX_TEXT_BYTES} is the most. Put it into a file and name it.`,
    };
  }
  return { text: whole, ...(id !== undefined && { id }) };
}

/** `forceFinish`: nothing, or `{ reason?, output? }`. */
export function parseForceFinish(argument: unknown): ForceFinish | Refused {
  if (argument === undefined || argument === null) return {};
  if (typeof argument !== 'object' || Array.isArray(argument)) {
    return { refused: 'Give nothing, or an object { "reason": "…", "output": "…" }.' };
  }
  const finish: { reason?: string; output?: string } = {};
  for (const [field, value] of Object.entries(argument)) {
    if (field !== 'reason' && field !== 'output')
      return { refused: `There is no field "${field}"; give reason or output.` };
    if (value === undefined || value === null) continue;
    const text = typeof value === 'string' ? checked(value, undefined) : { refused: 'it is no text.' };
    if ('refused' in text) return { refused: `${field}: ${text.refused}` };
    finish[field] = text.text;
  }
  return finish;
}

/** `setLimits`: some of the limits, as `limits` of an agent has them. */
export function parseSetLimits(argument: unknown): Limits | Refused {
  const where = 'setLimits';
  try {
    return parseLimits(where, argument);
  } catch (error) {
    if (error instanceof DefinitionError) return { refused: error.message.slice(`${where}: `.length) };
    throw error;
  }
}

/** `pause`, `resume`: whatever was sent along means nothing. */
export function parseNothing(): object {
  return {};
}

export interface PageArgument {
  readonly from: number;
  readonly limit: number;
  readonly spec: boolean;
}

/** `messages`: nothing, or `{ from?, limit?, spec? }`. */
export function parsePage(argument: unknown): PageArgument | Refused {
  if (argument === undefined || argument === null) return { from: 0, limit: Infinity, spec: false };
  if (typeof argument !== 'object') return { refused: 'Give nothing, or an object { "from": 0, "limit": 50 }.' };
  const from = wholeNumber('from' in argument ? argument.from : undefined, 0, 0);
  const limit = wholeNumber('limit' in argument ? argument.limit : undefined, Infinity, 0);
  if (from === null) return { refused: 'from must be a whole number of at least 0.' };
  if (limit === null) return { refused: 'limit must be a whole number of at least 0.' };
  return { from, limit, spec: 'spec' in argument && argument.spec === true };
}

function wholeNumber(value: unknown, absent: number, least: number): number | null {
  if (value === undefined || value === null) return absent;
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= least ? value : null;
}
