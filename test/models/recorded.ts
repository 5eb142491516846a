/** The recorded provider exchanges: where they are, and how one is served. They are no part of this repository. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { resolve } from 'node:path';
import { z } from 'zod';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const FOLDER = resolve(ROOT, process.env['EVERLAP_RECORDED'] ?? '../shared/recorded');

const Words = z.union([z.string(), z.object({ sha256: z.string(), length: z.number() })]);
const Expected = z.object({
  text: Words,
  reasoning: Words.nullable(),
  toolCalls: z.array(z.object({ id: z.string().nullable(), name: z.string(), arguments: z.unknown() })),
  finish: z.string().nullable(),
  usage: z.object({ input: z.number().nullable(), output: z.number().nullable() }).nullable(),
  error: z.object({ class: z.string(), why: z.string() }).nullable(),
  refusal: z.string().optional(),
});
const Exchange = z.object({ status: z.number(), headers: z.record(z.string(), z.string()), body: z.string() });

export interface Recording {
  readonly name: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly expected: z.infer<typeof Expected>;
}

/** Empty where the folder is missing, which only a developer's machine may have: in CI it is an error. */
export function recordings(): Recording[] {
  if (!existsSync(FOLDER)) {
    if (process.env['CI']) throw new Error('The recorded exchanges are missing: set EVERLAP_RECORDED to their folder.');
    console.warn('The recorded exchanges are missing (EVERLAP_RECORDED), so their tests are left out.');
    return [];
  }
  const all = z.record(z.string(), Expected).parse(JSON.parse(read('expected.json').toString()));
  return Object.entries(all).map(([name, expected]) => {
    if (name.endsWith('.sse')) {
      return { name, status: 200, headers: { 'content-type': 'text/event-stream' }, body: read(name), expected };
    }
    const exchange = Exchange.parse(JSON.parse(read(name).toString()));
    return { name, ...exchange, body: Buffer.from(exchange.body), expected };
  });
}

function read(name: string): Buffer {
  return readFileSync(resolve(FOLDER, name));
}

/** A text as expected.json writes it. */
export function asWords(text: string): z.infer<typeof Words> {
  if (text.length <= 300) return text;
  return { sha256: createHash('sha256').update(text).digest('hex'), length: text.length };
}

export function pieces(body: Uint8Array, size: number): Uint8Array[] {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < body.length; at += size) parts.push(body.subarray(at, at + size));
  return parts;
}

export function streamOf(parts: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  const rest = parts[Symbol.iterator]();
  return new ReadableStream({
    pull(controller) {
      const next = rest.next();
      if (next.done) controller.close();
      else controller.enqueue(next.value);
    },
  });
}

export interface Served {
  readonly baseUrl: string;
  /** Bodies of the requests that came, parsed. */
  readonly requests: unknown[];
  readonly headers: NodeJS.Dict<string | string[]>[];
  close(): Promise<void>;
}

export type Play = (
  request: { readonly body: unknown; readonly n: number },
  response: import('node:http').ServerResponse,
) => void;

/** A server on a free port that answers each request with `play`. */
export async function serve(play: Play): Promise<Served> {
  const requests: unknown[] = [];
  const headers: NodeJS.Dict<string | string[]>[] = [];
  const server: Server = createServer((request, response) => {
    const body: Buffer[] = [];
    request.on('data', (chunk: Buffer) => body.push(chunk));
    request.on('end', () => {
      const parsed: unknown = JSON.parse(Buffer.concat(body).toString());
      requests.push(parsed);
      headers.push(request.headers);
      play({ body: parsed, n: requests.length }, response);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    requests,
    headers,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}
