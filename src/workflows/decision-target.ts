/**
 * Where a person's decision belongs: to a call of this run, or to one that waits below it. Pure. Runs name their calls
 * without knowing of each other, so an id that waits in several runs is nobody's until the run is named.
 */
import { cut } from '../conversation/cut-text.js';
import { isRefused, type Refused } from './arguments.js';
import { openCallsBelow, type CallBelow, type Children } from './children.js';
import { findPending, misfit, notOpen, type PendingCall, type Verb } from './decisions.js';
import type { RunState } from './run-state.js';

export interface Decider {
  readonly id: string;
  readonly state: Pick<RunState, 'pending' | 'closedCalls'>;
  readonly children: Children;
}

export interface CallName {
  readonly callId: string;
  /** The run that waits; needed only where several wait under the same id. */
  readonly run?: string;
}

export type Target = { readonly own: PendingCall } | { readonly below: CallBelow };

/** The call that a decision is for, or a sentence on why it can have none. */
export function findTarget({ id, state, children }: Decider, name: CallName, verb: Verb): Target | Refused {
  const { callId, run } = name;
  const own = state.pending.some((call) => call.callId === callId && call.decision === null);
  const below = openCallsBelow(children).filter((call) => call.callId === callId);
  const places = [...(own ? [id] : []), ...below.map((call) => call.run)];
  if (run === undefined && places.length > 1) {
    return {
      refused: `The call ${cut(callId, 100)} waits in several runs (${places.slice(0, 5).join(', ')}); name one of them in "run".`,
    };
  }
  const call = run === undefined && own ? undefined : below.find((one) => run === undefined || one.run === run);
  if (call !== undefined) return misfit(call, verb) ?? { below: call };
  if (run !== undefined && run !== id) {
    return { refused: `No call ${cut(callId, 100)} waits in the run ${cut(run, 200)}, as far as this run knows.` };
  }
  const pending = findPending(state, callId, verb);
  if (!isRefused(pending)) return { own: pending };
  const isDecided = [...children.values()].some((child) => child.pending.some((one) => one.callId === callId));
  return isDecided ? notOpen(callId) : pending;
}
