/**
 * Steering and follow-ups: words of people on their way into the conversation.
 * Invariant: a text that was accepted is either in its queue, or in the conversation, or in the result's
 * `unconsumedSteering`; and one id is accepted once.
 */
import type { UnconsumedText } from '../agents/result.js';
import type { UserMessage } from '../conversation/message.js';
import { jsonBytes } from '../conversation/json-bytes.js';
import type { Refused } from './arguments.js';
import type { QueuedText, RunState } from './run-state.js';

/** Ids remembered for `the same id twice counts once`; older ones are forgotten. */
const MAX_SEEN_IDS = 1000;
/**
 * Texts waiting at once, in both queues together, and their bytes as JSON: past that they would not fit into one payload
 * any more, beside the results of a turn, in the carried state, or in the run's result.
 */
const MAX_WAITING = 2000;
const MAX_WAITING_BYTES = 600_000;

export type Queue = 'steering' | 'followUps';
export type Accepted = { readonly position: number };

/** Puts a text into its queue. The same id again changes nothing and gets the same answer while it waits. */
export function enqueue(state: RunState, queue: Queue, entry: QueuedText): Accepted | Refused {
  const waiting = state[queue];
  if (entry.id !== undefined) {
    const at = waiting.findIndex(({ id }) => id === entry.id);
    if (at >= 0) return { position: at + 1 };
    if (state.seenIds.includes(entry.id)) return { position: 0 };
  }
  const count = state.steering.length + state.followUps.length;
  // Added up as they come: to measure all of them anew for each one would hold up a workflow task for seconds.
  const bytes = state.waitingBytes + jsonBytes(entry);
  if (count >= MAX_WAITING || (count > 0 && bytes > MAX_WAITING_BYTES)) {
    return { refused: `${count} texts are waiting already; wait until the run has taken them.` };
  }
  waiting.push(entry);
  state.waitingBytes = bytes;
  if (entry.id !== undefined) state.seenIds = [...state.seenIds, entry.id].slice(-MAX_SEEN_IDS);
  return { position: waiting.length };
}

/** All waiting steering as ONE message, in arrival order; null where none waits. */
export function drainSteering(state: RunState): UserMessage | null {
  if (state.steering.length === 0) return null;
  const text = state.steering.map((entry) => `[STEERING] ${entry.text}`).join('\n\n');
  taken(state, state.steering);
  state.steering = [];
  return { role: 'user', kind: 'steering', text };
}

/** The oldest follow-up; null where none waits. */
export function takeFollowUp(state: RunState): { readonly id: string | null; readonly message: UserMessage } | null {
  const [next, ...rest] = state.followUps;
  if (next === undefined) return null;
  taken(state, [next]);
  state.followUps = rest;
  return { id: next.id ?? null, message: { role: 'user', kind: 'follow_up', text: next.text } };
}

function taken(state: RunState, entries: readonly QueuedText[]): void {
  state.waitingBytes -= entries.reduce((sum, entry) => sum + jsonBytes(entry), 0);
}

export function unconsumed(state: RunState): UnconsumedText[] {
  return [
    ...state.steering.map((entry) => ({ kind: 'steer' as const, ...entry })),
    ...state.followUps.map((entry) => ({ kind: 'followUp' as const, ...entry })),
  ];
}
