/** Cutting a conversation into pages that fit a query's answer. Pure. */
import type { Message } from './message.js';

/** Bytes of JSON in one page: under the 1 MB that `messages` promises, with room beside it for a spec in one payload. */
const PAGE_BYTES = 900_000;

/** The page from index `from`: at most `limit` messages and 900 KB, but always one where there is one. */
export function pageOf(
  messages: readonly Message[],
  from: number,
  limit: number,
): { page: Message[]; next: number | null } {
  const page: Message[] = [];
  let bytes = 0;
  for (const message of messages.slice(from, from + limit)) {
    bytes += jsonBytes(message);
    if (page.length > 0 && bytes > PAGE_BYTES) break;
    page.push(message);
  }
  const next = from + page.length;
  return { page, next: next < messages.length ? next : null };
}

/** Bytes of a value as JSON in UTF-8. */
export function jsonBytes(value: object | string): number {
  return utf8Length(JSON.stringify(value));
}

/** Bytes of a text in UTF-8. */
export function utf8Length(text: string): number {
  let bytes = 0;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    // A surrogate pair is 4 bytes: 2 for each half.
    bytes += unit < 0x80 ? 1 : unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 2 : 3;
  }
  return bytes;
}
