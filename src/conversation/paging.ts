/** Cutting a conversation into pages that fit a query's answer. Pure. */
import { jsonBytes } from './json-bytes.js';
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
