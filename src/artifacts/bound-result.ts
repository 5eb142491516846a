/**
 * What a model sees of a tool's result: all of it, or head and tail, its size, and how to read the rest. Never fails: a
 * tool that ran is not run again because its result could not be stored.
 */
import type { ToolInput } from '../agents/wire.js';
import { DEFAULT_MAX_CHARS } from '../agents/wire.js';
import { cut, cutFront, headAndTail } from '../conversation/cut-text.js';
import { escapedBytes } from '../conversation/json-bytes.js';
import { errorText } from '../activities/error-text.js';
import { ABANDONED, settleWithin } from '../activities/settle-within.js';
import { artifactId, artifactKey, type ArtifactStore } from './artifact-store.js';

const HEAD_SHARE = 0.6;
/**
 * Bytes inside JSON that a character may take on average; a text of longer ones (up to 6) is cut shorter. So what all
 * calls of a turn may show fits a payload.
 */
const BYTES_PER_CHAR = 2;
/** The last one is enough for any text. */
const SHARES = [1, 1 / 2, 1 / 3] as const;
/** For a store to end after its time is up, before it is left behind. */
const ABORT_GRACE_MS = 500;

export type Bounded = Pick<ToolInput, 'call' | 'maxChars' | 'stored'>;

/** @param signal aborts when the store has had its time. */
export async function boundResult(
  store: ArtifactStore,
  text: string,
  { call, maxChars = DEFAULT_MAX_CHARS, stored }: Bounded,
  signal: AbortSignal,
): Promise<string> {
  if (fits(text, maxChars)) return text;
  if (stored === false) return shortened(text, maxChars);
  const id = artifactId(call.idempotencyKey);
  const bytes = Buffer.from(text, 'utf8');
  const problem = await problemOf(() => store.put(artifactKey(call.runId, id) ?? id, bytes, signal), signal);
  const note = (headBytes: number): string =>
    problem === undefined
      ? `\n[Cut: ${bytes.length} bytes in all. Read on with read_result: result "${id}", from ${headBytes}; or search it.]`
      : `\n[Cut: ${bytes.length} bytes in all. The rest is lost: it could not be stored (${cut(problem, 300)}).]`;
  return firstThatFits(maxChars, (room) => withNote(text, room, note));
}

/** Head and tail, when there is nothing more to read. */
export function shortened(text: string, maxChars: number): string {
  if (fits(text, maxChars)) return text;
  return firstThatFits(maxChars, (room) => headAndTail(text, room));
}

function firstThatFits(maxChars: number, make: (room: number) => string): string {
  let made = '';
  for (const share of SHARES) {
    made = make(Math.floor(maxChars * share));
    if (fits(made, maxChars)) break;
  }
  return made;
}

export function fits(text: string, maxChars: number): boolean {
  return text.length <= maxChars && escapedBytes(text) <= BYTES_PER_CHAR * maxChars;
}

function withNote(text: string, room: number, note: (headBytes: number) => string): string {
  const marker = '\n[…]\n';
  // The largest offset makes the longest note.
  const left = Math.max(0, room - marker.length - note(Buffer.byteLength(text)).length);
  const head = cut(text, left * HEAD_SHARE);
  return head + marker + cutFront(text, left - head.length) + note(Buffer.byteLength(head));
}

async function problemOf(put: () => Promise<void>, signal: AbortSignal): Promise<string | undefined> {
  try {
    const end = await settleWithin(put, signal, ABORT_GRACE_MS);
    return end === ABANDONED ? 'it took too long' : undefined;
  } catch (error) {
    return errorText(error);
  }
}
