/**
 * Tokens by estimate, rather too many than too few. Pure, without Node and zod: it is used inside the sandbox, where
 * its value decides what a workflow does next and so must not change with the Node version.
 */
import type { Json } from './json.js';
import type { Message } from './message.js';

/** English prose has about 4.2 characters a token, code and JSON about 3.3. */
const ASCII_TOKENS = 1 / 3.5;
/** Latin with accents, Greek, Cyrillic, Arabic, Indic scripts. */
const OTHER_TOKENS = 0.6;
/** Chinese, Japanese, Korean, and each half of a surrogate pair (an emoji is 2 to 3 tokens). */
const WIDE_TOKENS = 1.2;
const WIDE_FROM = 0x2e80;

/** Role, separators; and name and id of a call. */
const MESSAGE_TOKENS = 5;
const CALL_TOKENS = 12;

export function estimateTokens(text: string): number {
  let ascii = 0;
  let wide = 0;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) ascii += 1;
    else if (unit >= WIDE_FROM) wide += 1;
  }
  const other = text.length - ascii - wide;
  return Math.ceil(ascii * ASCII_TOKENS + other * OTHER_TOKENS + wide * WIDE_TOKENS);
}

export function estimateMessages(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + estimateMessage(message), 0);
}

/** Readable reasoning is not sent back, so it does not count; what is sent back in its place does. */
export function estimateMessage(message: Message): number {
  let tokens = MESSAGE_TOKENS + estimateTokens(message.text);
  if (message.role !== 'assistant') return tokens;
  for (const call of message.toolCalls ?? []) {
    tokens += CALL_TOKENS + estimateTokens(call.name) + estimateTokens(call.arguments) + estimateJson(call.extra);
  }
  return tokens + estimateJson(message.extra);
}

/** Of any JSON, such as a tool's schema. */
function estimateJson(value: Json | undefined): number {
  return value === undefined ? 0 : estimateTokens(JSON.stringify(value));
}
