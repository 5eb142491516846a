/** The message that a run answers, and in a session what it may use for it. Pure. */
import type { Limits } from '../agents/limits.js';
import type { Ending, FailedReason } from '../agents/result.js';
import type { SessionSpec } from '../agents/session.js';
import { tokensOf } from './limits.js';
import type { RunState } from './run-state.js';

/** Failures that the next message need not meet again. */
const PASSING_FAILURES: ReadonlySet<FailedReason> = new Set([
  'content_filter',
  'empty_answer',
  'invalid_output',
  'model_unavailable',
  'stalled',
]);

/** Takes a message up: what the last one has left behind does not count for it. */
export function openMessage(state: RunState, id: string | null, now: number): void {
  state.message = {
    id,
    startedAt: now,
    turns: state.turns,
    toolCalls: state.toolCalls,
    tokens: tokensOf(state.usage),
    usd: state.costUsd ?? 0,
  };
  state.idleSince = null;
  state.lastText = null;
  state.graceTurns = 0;
  state.wrongOutputs = 0;
  state.stuck = { signatures: [], warned: false };
}

type Limited = Pick<RunState, 'limits' | 'message' | 'startedAt'>;

/** The run's own limits and those of the open message, whichever is reached first; counted as the run's own. */
export function limitsInForce(run: Limited, session: SessionSpec | undefined): Limits {
  const own = ofMessage(run, session);
  const inForce: { -readonly [Field in keyof Limits]: Limits[Field] } = { ...run.limits };
  for (const [field, limit] of own) inForce[field] = Math.min(limit, run.limits[field] ?? Infinity);
  return inForce;
}

function ofMessage({ message, startedAt }: Limited, session: SessionSpec | undefined): Map<keyof Limits, number> {
  const limits = new Map<keyof Limits, number>();
  if (message === null || session === undefined) return limits;
  const before: Required<Limits> = { ...message, durationMs: message.startedAt - startedAt };
  for (const field of ['turns', 'tokens', 'usd', 'durationMs', 'toolCalls'] as const) {
    const limit = session.limits[field];
    if (limit !== undefined) limits.set(field, before[field] + limit);
  }
  return limits;
}

/** Whether this is the end of the open message alone: the session goes on and waits for the next one. */
export function endsMessageOnly(run: Limited, session: SessionSpec | undefined, ending: Ending): boolean {
  if (session === undefined) return false;
  switch (ending.status) {
    case 'completed':
      return ending.reason === 'answered';
    case 'exhausted':
      return isOwnLimit(run, session, ending.reason);
    case 'stopped':
      return ending.reason === 'stuck';
    case 'failed':
      return PASSING_FAILURES.has(ending.reason);
    default:
      return false;
  }
}

const FIELD_OF = {
  max_turns: 'turns',
  max_tokens: 'tokens',
  max_cost: 'usd',
  max_tool_calls: 'toolCalls',
  deadline: 'durationMs',
  max_laps: null,
} as const;

/** Whether it was the message's own limit that was reached, and not the run's. */
function isOwnLimit(run: Limited, session: SessionSpec, reason: keyof typeof FIELD_OF): boolean {
  const field = FIELD_OF[reason];
  const own = field === null ? undefined : ofMessage(run, session).get(field);
  return field !== null && own !== undefined && own < (run.limits[field] ?? Infinity);
}
