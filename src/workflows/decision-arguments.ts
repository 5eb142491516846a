/** The arguments of `approve`, `deny`, `answer`, `setMode`, checked. Pure, without zod (see arguments.ts). */
import { toMs } from '../agents/duration.js';
import { DefinitionError } from '../agents/definition-error.js';
import { wellFormed } from '../conversation/cut-text.js';
import { isJsonObject, type JsonObject } from '../conversation/json.js';
import { jsonBytes } from '../conversation/json-bytes.js';
import { isRefused, type Refused } from './arguments.js';
import { MODES, type Mode } from '../agents/mode.js';
import type { CallName } from './decision-target.js';
import { callName } from './decisions.js';

const MAX_TEXT = 200_000;
/** They are in the input of a check and of the call. */
const MAX_ARGS_BYTES = 600_000;
/** Of a rule, of which 200 are carried along. */
const MAX_PATTERN_BYTES = 2000;

export interface Remember {
  readonly tool?: string;
  readonly args?: JsonObject;
  readonly uses?: number;
  readonly forMs?: number;
}

export interface ApproveArgument extends CallName {
  readonly args?: JsonObject;
  readonly remember?: Remember;
}

/** `approve`: a call id, or `{ callId, run?, args?, remember? }`. */
export function parseApprove(argument: unknown): ApproveArgument | Refused {
  const fields = fieldsOf(argument, ['callId', 'run', 'args', 'remember', 'reason']);
  if (isRefused(fields)) return fields;
  const { args, remember } = fields;
  const name = nameOf(fields);
  if (isRefused(name)) return name;
  if (args !== undefined && !isJsonObject(args))
    return { refused: 'args must be an object: the arguments to run with.' };
  if (args !== undefined && jsonBytes(args) > MAX_ARGS_BYTES) {
    return { refused: `args has more than ${MAX_ARGS_BYTES} bytes as JSON. Put long texts into a file and name it.` };
  }
  const parsed = remember === undefined ? undefined : parseRemember(remember);
  if (isRefused(parsed)) return parsed;
  return { ...name, ...(args && { args }), ...(parsed && { remember: parsed }) };
}

function parseRemember(value: unknown): Remember | Refused {
  if (value === 'tool') return {};
  const help = 'remember must be "tool", or { "tool": "…", "args": { … }, "uses": 3, "for": "1 hour" }.';
  if (!isJsonObject(value)) return { refused: help };
  const { tool, args, uses, for: duration, ...others } = value;
  if (Object.keys(others).length > 0) return { refused: `${help} It has no ${Object.keys(others).join(', ')}.` };
  if (tool !== undefined && typeof tool !== 'string') return { refused: help };
  if (args !== undefined && !isJsonObject(args)) return { refused: help };
  if (args !== undefined && jsonBytes(args) > MAX_PATTERN_BYTES) {
    return { refused: `remember.args has more than ${MAX_PATTERN_BYTES} bytes as JSON.` };
  }
  if (uses !== undefined && !(typeof uses === 'number' && Number.isSafeInteger(uses) && uses >= 1))
    return { refused: help };
  let forMs: number | undefined;
  if (duration !== undefined) {
    try {
      forMs = toMs('remember.for', typeof duration === 'number' ? duration : String(duration));
    } catch (error) {
      if (error instanceof DefinitionError) return { refused: error.message };
      throw error;
    }
  }
  return {
    ...(tool !== undefined && { tool }),
    ...(args !== undefined && { args }),
    ...(typeof uses === 'number' && { uses }),
    ...(forMs !== undefined && { forMs }),
  };
}

/** `deny`: a call id, or `{ callId, run?, reason? }`. */
export function parseDeny(argument: unknown): (CallName & { readonly reason?: string }) | Refused {
  const fields = fieldsOf(argument, ['callId', 'run', 'reason']);
  if (isRefused(fields)) return fields;
  const { reason } = fields;
  const name = nameOf(fields);
  if (isRefused(name)) return name;
  if (reason === undefined) return name;
  return isText(reason)
    ? { ...name, reason: wellFormed(reason) }
    : { refused: `reason must be a text of at most ${MAX_TEXT} characters.` };
}

/** `answer`: `{ callId, run?, text }`. */
export function parseAnswer(argument: unknown): (CallName & { readonly text: string }) | Refused {
  const fields = fieldsOf(argument, ['callId', 'run', 'text']);
  if (isRefused(fields)) return fields;
  const { text } = fields;
  const name = nameOf(fields);
  if (isRefused(name)) return name;
  if (!isText(text)) return { refused: `text must be a text of at most ${MAX_TEXT} characters.` };
  return text.trim() === '' ? { refused: 'The text is empty.' } : { ...name, text: wellFormed(text) };
}

/** `setMode`: `ask`, `auto` or `plan`. */
export function parseMode(argument: unknown): { readonly mode: Mode } | Refused {
  const mode = MODES.find((one) => one === argument);
  return mode === undefined ? { refused: `The mode must be one of ${MODES.join(', ')}.` } : { mode };
}

const NO_ID: Refused = {
  refused: 'Give the id of the call, or an object with a "callId"; "state" lists the calls that wait.',
};

function fieldsOf(argument: unknown, known: readonly string[]): Readonly<Record<string, unknown>> | Refused {
  if (typeof argument === 'string') return { callId: argument };
  if (typeof argument !== 'object' || argument === null || Array.isArray(argument)) return NO_ID;
  const fields: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(argument)) {
    if (!known.includes(field)) return { refused: `There is no field "${field}"; the fields are ${known.join(', ')}.` };
    if (value !== null) fields[field] = value;
  }
  return fields;
}

function nameOf({ callId, run }: Readonly<Record<string, unknown>>): CallName | Refused {
  if (!isId(callId)) return NO_ID;
  const name = { callId: callName(callId) };
  if (run === undefined) return name;
  return isId(run) ? { ...name, run } : { refused: 'run must be the workflow id of the run that waits.' };
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_TEXT;
}
