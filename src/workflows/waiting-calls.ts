/** The calls that wait for a person, in a run and below it, as `state` shows them. Pure. */
import { cut } from '../conversation/cut-text.js';
import { jsonBytes } from '../conversation/json-bytes.js';
import { cutToJsonBytes } from '../conversation/json-bytes.js';
import { countBelow, openCallsBelow, type Children } from './children.js';
import type { PendingView } from './messages.js';
import type { RunState } from './run-state.js';

/** Calls that are shown, this run's own and the oldest first; the count has them all. */
const MAX_SHOWN = 30;
const MAX_ARGS = 500;
/** Bytes, as JSON, of all that is shown: `state` has 64 KB. Ids are kept whole, or nobody could decide. */
const MAX_BYTES = 40_000;

export interface Waiter {
  readonly state: Pick<RunState, 'pending'>;
  readonly children: Children;
}

export function waitingCalls({ state, children }: Waiter): { calls: PendingView[]; count: number } {
  const own = state.pending.filter(({ decision }) => decision === null);
  const calls = own.slice(0, MAX_SHOWN).map(({ kind, callId, tool, args, since, expiresAt }): PendingView => ({
    kind,
    callId,
    tool,
    args: cut(JSON.stringify(args), MAX_ARGS),
    since,
    ...(expiresAt !== undefined && { expiresAt }),
  }));
  return {
    calls: bounded([...calls, ...openCallsBelow(children)].slice(0, MAX_SHOWN)),
    count: own.length + countBelow(children),
  };
}

export const NOTHING_WAITS = JSON.stringify({ calls: [], count: 0 });

/** Arguments share what the ids leave; where even that is nothing, fewer calls are shown. */
function bounded(calls: readonly PendingView[]): PendingView[] {
  if (jsonBytes(calls) <= MAX_BYTES) return [...calls];
  const left = MAX_BYTES - jsonBytes(calls.map((call) => ({ ...call, args: '' })));
  if (left < 0) return bounded(calls.slice(0, -1));
  const room = Math.floor(left / calls.length);
  return calls.map((call) => ({ ...call, args: cutToJsonBytes(call.args, room) }));
}

export function isWaiting({ state, children }: Waiter): boolean {
  return state.pending.length > 0 || countBelow(children) > 0;
}
