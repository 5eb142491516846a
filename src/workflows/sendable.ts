/** What of the conversation travels with an activity, and under which head workers know the rest. */
import { EMPTY_HEAD, type Head, type Message } from '../conversation/message.js';
import { utf8Length } from '../conversation/json-bytes.js';
import type { Conversation } from './run-state.js';

/** Bytes of new messages in one input: a payload may have 2 MB, and what is scheduled together shares 4 MB. */
const MAX_DELTA_BYTES = 500_000;

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

/** From here on workers are told everything anew. */
export function forgetHead(conversation: Conversation): void {
  conversation.head = EMPTY_HEAD;
  conversation.headTokens = null;
}
