/** What of the conversation travels with an activity. Pure. */
import { EMPTY_HEAD, type Head, type Message } from '../conversation/message.js';
import { utf8Length } from '../conversation/paging.js';
import type { Conversation } from './run-state.js';

/** Bytes of new messages in one input; a payload may have 2 MB. */
const MAX_DELTA_BYTES = 1_500_000;

export interface Sent {
  readonly base: Head;
  readonly delta: readonly Message[];
}

/**
 * What workers know, by its head, and the messages after it. Where these are too many for a payload (which would fail the
 * workflow task for ever) nothing travels: the worker asks the run for its conversation, up to `base.length`.
 */
export function sendable({ head, messages }: Conversation): Sent {
  const delta = messages.slice(head.length);
  if (utf8Length(JSON.stringify(delta)) <= MAX_DELTA_BYTES) return { base: head, delta };
  return { base: { hash: EMPTY_HEAD.hash, length: messages.length }, delta: [] };
}
