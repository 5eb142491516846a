/** `read_result`: the built-in tool by which a model reads results that were too long to be shown whole. */
import { z } from 'zod';
import { artifactKey, type ArtifactStore } from '../artifacts/artifact-store.js';
import { fits } from '../artifacts/bound-result.js';
import { defineTool, type ToolContext, type ToolDefinition } from '../agents/define-tool.js';
import { ToolError } from '../agents/tool-error.js';
import { READ_RESULT_NAME } from '../agents/wire.js';

const MAX_MATCHES = 20;
/** Bytes shown on each side of a match. */
const CONTEXT_BYTES = 120;
const CHUNK_BYTES = 4 * 1024 * 1024;
/** Less could be a part of one character. */
const LEAST_BYTES = 16;
/** For the note at the end of a page. */
const NOTE_CHARS = 120;

const INPUT = z.object({
  result: z.string().describe('The id that the note at the end of the cut result gives.'),
  from: z.int().min(0).optional().describe('The byte to begin at. Default: 0.'),
  bytes: z.int().min(1).optional().describe('How many bytes to read. Default, and the most: as many as can be shown.'),
  search: z
    .string()
    .min(1)
    .max(1000)
    .optional()
    .describe('Instead of reading: a text to find from that byte on; upper and lower case of a to z are the same.'),
});

/** For specs and for running; what it reads from is given by {@link readResult}. */
export const READ_RESULT: ToolDefinition = defineTool({
  name: READ_RESULT_NAME,
  description: 'Read on in, or search, an earlier tool result of this run that was cut because it was too long.',
  input: INPUT,
  effects: 'none',
  timeout: '1 minute',
  execute: () => {
    throw new Error('read_result has no store to read from.');
  },
});

/** @param maxChars of its own result: a page is made to fit, since nobody could read on in a cut one. */
export function readResult(store: ArtifactStore, maxChars: number): ToolDefinition {
  const execute = async (raw: unknown, context: ToolContext): Promise<string> => {
    const { result, from = 0, bytes, search } = INPUT.parse(raw);
    const key = artifactKey(context.call.runId, result);
    const artifact = new Artifact(store, key, result, context.signal);
    return search === undefined
      ? readPage(artifact, from, Math.max(LEAST_BYTES, Math.min(bytes ?? Infinity, maxChars - NOTE_CHARS)), maxChars)
      : searchIn(artifact, from, search, maxChars);
  };
  return { ...READ_RESULT, execute };
}

class Artifact {
  constructor(
    private readonly store: ArtifactStore,
    private readonly key: string | null,
    private readonly id: string,
    private readonly signal: AbortSignal,
  ) {}

  async read(from: number, length: number): Promise<{ bytes: Buffer; size: number }> {
    this.signal.throwIfAborted();
    const part = this.key === null ? null : await this.store.get(this.key, from, length, this.signal);
    if (part !== null) return { bytes: Buffer.from(part.bytes), size: part.size };
    throw new ToolError(
      `There is no stored result ${JSON.stringify(this.id.slice(0, 100))} of this run (any more). The id stands in the note at the end of the cut result.`,
    );
  }
}

async function readPage(artifact: Artifact, from: number, most: number, maxChars: number): Promise<string> {
  const { bytes, size } = await artifact.read(from, most);
  if (bytes.length === 0) return `[The result has ${size} bytes; there is nothing from byte ${from} on.]`;
  for (let length = bytes.length; ; length = Math.ceil(length / 2)) {
    const start = nextCharacter(bytes, 0);
    const end = from + length >= size ? bytes.length : Math.max(start, thisCharacter(bytes, length));
    const text = bytes.toString('utf8', start, end);
    const rest = from + end < size ? ` Read on from ${from + end}.` : ' That is the end.';
    const page = `${text}\n[Bytes ${from + start} to ${from + end} of ${size}.${rest}]`;
    if (fits(page, maxChars) || length <= LEAST_BYTES) return page;
  }
}

async function searchIn(artifact: Artifact, from: number, search: string, maxChars: number): Promise<string> {
  const needle = lowerCase(Buffer.from(search, 'utf8'));
  let shown = '';
  let matches = 0;
  let next = from;
  for (;;) {
    const { bytes, size } = await artifact.read(next, CHUNK_BYTES + needle.length - 1);
    const text = lowerCase(bytes);
    for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + needle.length)) {
      const line = await contextOf(artifact, next + at, needle.length);
      if (matches === MAX_MATCHES || !fits(shown + line, maxChars - NOTE_CHARS)) {
        return `${shown}[More matches follow. Search on from ${next + at}.]`;
      }
      shown += line;
      matches += 1;
    }
    if (next + bytes.length >= size) {
      return matches === 0 ? `[Not found from byte ${from} on, of ${size}.]` : `${shown}[No more matches.]`;
    }
    next += CHUNK_BYTES;
  }
}

/** A line for each match: where it begins, and what stands around it. */
async function contextOf(artifact: Artifact, at: number, length: number): Promise<string> {
  const from = Math.max(0, at - CONTEXT_BYTES);
  const { bytes } = await artifact.read(from, at - from + length + CONTEXT_BYTES);
  const text = bytes.toString('utf8', nextCharacter(bytes, 0), thisCharacter(bytes, bytes.length));
  return `byte ${at}: ${text.replace(/\s+/g, ' ')}\n`;
}

/** Lower-cases A to Z alone, so that every byte keeps its place. */
function lowerCase(bytes: Buffer): Buffer {
  const lower = Buffer.from(bytes);
  for (let index = 0; index < lower.length; index += 1) {
    const byte = lower[index] ?? 0;
    if (byte >= 0x41 && byte <= 0x5a) lower[index] = byte + 0x20;
  }
  return lower;
}

/** The start of the first whole character from `at` on. */
function nextCharacter(bytes: Buffer, at: number): number {
  let start = at;
  while (start < bytes.length && start < at + 3 && isContinuation(bytes[start])) start += 1;
  return start;
}

/** `at`, or the start of the character that `at` would cut. */
function thisCharacter(bytes: Buffer, at: number): number {
  if (at < bytes.length) {
    let start = at;
    while (start > 0 && isContinuation(bytes[start])) start -= 1;
    return start;
  }
  for (let back = 1; back <= 4 && back <= bytes.length; back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (isContinuation(byte)) continue;
    const width = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return width > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
