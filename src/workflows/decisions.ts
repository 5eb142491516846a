/**
 * Decisions of people over single calls: approvals and questions. Pure over the run's state.
 * Invariant: a call waits at most once, and is decided at most once. A decision names its call; ids that are unknown,
 * decided or closed are refused, so that none is ever taken for another call.
 */
import { isJsonObject, type Json, type JsonObject } from '../conversation/json.js';
import { cut } from '../conversation/cut-text.js';
import { shortHash } from '../conversation/short-hash.js';
import { cutToJsonBytes, escapedBytes } from '../conversation/json-bytes.js';
import type { Refused } from './arguments.js';
import type { RunState } from './run-state.js';

export interface PendingCall {
  readonly kind: 'approval' | 'question';
  readonly callId: string;
  readonly tool: string;
  readonly args: JsonObject;
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** Milliseconds since the epoch; absent where it waits without end. */
  readonly expiresAt?: number;
  decision: Decision | null;
  /**
   * What became of the decision. `taken`: the call ends by it. `closed`: what ended the wait came in the same moment (a
   * cancel, a force-finish, the deadline) and goes before it, so whoever decided is refused.
   */
  fate: 'open' | 'taken' | 'closed';
}

export type Decision =
  | { readonly kind: 'approved'; readonly args?: JsonObject }
  | { readonly kind: 'denied'; readonly reason?: string }
  | { readonly kind: 'answered'; readonly text: string };

/** An approval that holds for later calls too. */
export interface ApprovalRule {
  readonly tool: string;
  /** Arguments that must match: equal values, or texts with `*` for anything. Absent: all arguments. */
  readonly args?: JsonObject;
  /** Calls that it still approves; absent: any number. */
  readonly uses?: number;
  /** Milliseconds since the epoch; absent: as long as the run lives. */
  readonly expiresAt?: number;
}

/** Bytes of an id in `state`, which shows 30 of them. */
const MAX_NAME_BYTES = 200;

/** The id by which people know a call: its own, but some servers pack whole signatures into theirs. */
export function callName(callId: string): string {
  if (escapedBytes(callId) <= MAX_NAME_BYTES) return callId;
  return `${cutToJsonBytes(callId, MAX_NAME_BYTES - 20)}~${shortHash(callId)}`;
}

/** Decided and closed ids that are remembered, so that a late decision is told what became of its call. */
const MAX_CLOSED = 500;

export type Verb = 'approve' | 'deny' | 'answer';

/** The call that a decision is for, or a sentence on why it can have none. */
export function findPending(
  state: Pick<RunState, 'pending' | 'closedCalls'>,
  callId: string,
  verb: Verb,
): PendingCall | Refused {
  const pending = state.pending.find((one) => one.callId === callId);
  if (pending === undefined) {
    return state.closedCalls.includes(callId)
      ? notOpen(callId)
      : { refused: `No call ${cut(callId, 100)} waits in this run.` };
  }
  if (pending.decision !== null) return notOpen(callId);
  return misfit(pending, verb) ?? pending;
}

export function notOpen(callId: string): Refused {
  return { refused: `The call ${cut(callId, 100)} is decided or closed already.` };
}

/** A question cannot be approved, nor an approval answered. */
export function misfit({ callId, kind }: Pick<PendingCall, 'callId' | 'kind'>, verb: Verb): Refused | undefined {
  if (kind === (verb === 'answer' ? 'question' : 'approval')) return undefined;
  const [wait, use] = kind === 'question' ? ['an answer', '"answer"'] : ['an approval', '"approve" or "deny"'];
  return { refused: `The call ${cut(callId, 100)} waits for ${wait}; use ${use}.` };
}

/** Takes a call off the list: it is decided, or nobody's decision is wanted any more. */
export function closePending(state: RunState, callId: string): void {
  state.pending = state.pending.filter((one) => one.callId !== callId);
  state.closedCalls = [...state.closedCalls, callId].slice(-MAX_CLOSED);
}

/** Whether an earlier decision approves this call; uses one of its uses up. */
export function approvedByRule(state: RunState, tool: string, args: JsonObject, now: number): boolean {
  state.approvalRules = state.approvalRules.filter(({ expiresAt }) => expiresAt === undefined || expiresAt > now);
  const rule = state.approvalRules.find((one) => one.tool === tool && matches(one.args ?? {}, args));
  if (rule === undefined) return false;
  if (rule.uses !== undefined) {
    state.approvalRules = state.approvalRules.flatMap((one) => {
      if (one !== rule) return [one];
      return rule.uses === undefined || rule.uses > 1 ? [{ ...rule, uses: (rule.uses ?? 0) - 1 }] : [];
    });
  }
  return true;
}

/** Every field of the pattern must be in the arguments, and fit. */
export function matches(pattern: JsonObject, args: JsonObject): boolean {
  return Object.entries(pattern).every(
    ([field, wanted]) => Object.hasOwn(args, field) && fits(wanted, args[field] ?? null),
  );
}

function fits(wanted: Json, value: Json): boolean {
  if (typeof wanted === 'string' && typeof value === 'string') return fitsText(wanted.split('*'), value);
  if (isJsonObject(wanted) && isJsonObject(value)) return matches(wanted, value);
  return JSON.stringify(wanted) === JSON.stringify(value);
}

/** `*` stands for any text; by hand, since a pattern of many stars as a regular expression can take for ever. */
function fitsText(parts: readonly string[], value: string): boolean {
  const [first = '', ...rest] = parts;
  if (rest.length === 0) return first === value;
  const last = rest.pop() ?? '';
  if (!value.startsWith(first) || !value.endsWith(last) || value.length < first.length + last.length) return false;
  let at = first.length;
  for (const part of rest) {
    const found = value.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= value.length - last.length;
}
