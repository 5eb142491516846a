/** The calls that wait for a person, in a run and below it, as `state` shows them. Pure. */
import { cut } from '../conversation/cut-text.js';
import { countBelow, openCallsBelow, type Children } from './children.js';
import type { PendingView } from './messages.js';
import type { RunState } from './run-state.js';

/** Calls that are shown, this run's own and the oldest first; the count has them all. */
const MAX_SHOWN = 30;
const MAX_ARGS = 500;

export interface Waiter {
  readonly state: Pick<RunState, 'pending'>;
  readonly children: Children;
}

export function waitingCalls({ state, children }: Waiter): { calls: PendingView[]; count: number } {
  const own = state.pending.filter(({ decision }) => decision === null);
  const calls = own.slice(0, MAX_SHOWN).map(({ kind, callId, tool, args, since, expiresAt }): PendingView => ({
    kind,
    callId: cut(callId, 200),
    tool,
    args: cut(JSON.stringify(args), MAX_ARGS),
    since,
    ...(expiresAt !== undefined && { expiresAt }),
  }));
  return {
    calls: [...calls, ...openCallsBelow(children)].slice(0, MAX_SHOWN),
    count: own.length + countBelow(children),
  };
}

export function isWaiting({ state, children }: Waiter): boolean {
  return state.pending.length > 0 || countBelow(children) > 0;
}
