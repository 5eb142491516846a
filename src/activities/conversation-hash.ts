/** The chain hash over a conversation: each message is hashed with the hash before it, so that a head can be extended. */
import { createHash } from 'node:crypto';
import type { Message } from '../conversation/message.js';

/**
 * The hash after `messages`, beginning from `from` ('' before the first). 22 characters: 128 bits of SHA-256 in base64url.
 * Messages are hashed as JSON; their key order survives the data converter, which is JSON too.
 */
export function extendHash(from: string, messages: readonly Message[]): string {
  return messages.reduce((hash, message) => digest(`${hash}\n${JSON.stringify(message)}`), from);
}

export function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}
