/** Plays one step of a script into an HTTP response. Knows nothing of scripts, recording and rules. */
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../conversation/json.js';
import { untilAborted } from '../waiting/interruptible.js';
import { pass, type Wait } from './gate.js';
import { SCRIPTED_HEADERS } from './http.js';
import type { AnswerStep, Ending, RawStep, Step, Timing } from './steps.js';
import { chunksOf, completionOf, type AnswerContext } from './wire.js';

const CLOSED = new Set(['EPIPE', 'ECONNRESET']);

/** One response being played. `gone` aborts when its connection is closed, by whomever. */
export interface Stage {
  readonly response: ServerResponse;
  readonly gone: AbortSignal;
  readonly stream: boolean;
  readonly context: AnswerContext;
  /** Destroys the connection on the script's behalf. */
  readonly cut: () => void;
}

/** Resolves when the step is played, or rejects with `gone`'s reason when the connection was closed before. */
export async function play(step: Step, stage: Stage): Promise<void> {
  if (step.waitFor) await at(step.waitFor, stage);
  if (step.delayMs) await sleep(step.delayMs, undefined, { signal: stage.gone });
  switch (step.kind) {
    case 'answer':
      return stage.stream ? await playStream(step, stage) : await playWhole(step, stage);
    case 'raw':
      return await playRaw(step, stage);
    case 'no_reply':
      return step.then === 'cut' ? stage.cut() : await untilGone(stage);
  }
}

async function playStream(step: AnswerStep, stage: Stage): Promise<void> {
  const { ending } = step;
  const { chunks, beforeFinish } = chunksOf(step, stage.context);
  const played = ending ? (ending.afterChunks ?? beforeFinish) : chunks.length;
  start(stage, 200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  await hold(step, 0, stage);
  for (const [index, chunk] of chunks.slice(0, played).entries()) {
    if (index > 0 && step.chunkDelayMs) await sleep(step.chunkDelayMs, undefined, { signal: stage.gone });
    await write(event(chunk), step, stage);
    await hold(step, index + 1, stage);
  }
  if (ending) return await playEnding(ending, chunks[played], step, stage);
  await write('data: [DONE]\n\n', step, stage);
  stage.response.end();
}

async function playEnding(ending: Ending, next: JsonObject | undefined, timing: Timing, stage: Stage): Promise<void> {
  switch (ending.kind) {
    case 'cut': {
      const line = event(next ?? {});
      if (ending.midLine) await write(line.slice(0, line.length / 2), timing, stage);
      return stage.cut();
    }
    case 'clean':
      break;
    case 'error':
      await write((ending.named ? 'event: error\n' : '') + event({ error: ending.error }), timing, stage);
      break;
    case 'silence':
      return await beSilent(ending.commentsEveryMs, stage);
  }
  stage.response.end();
}

/** The request did not ask for a stream: the endings become what they are for one JSON object. */
async function playWhole(step: AnswerStep, stage: Stage): Promise<void> {
  const { ending } = step;
  start(stage, 200, { 'content-type': 'application/json' });
  if (step.holdAfter) await at(step.holdAfter.until, stage);
  if (ending?.kind === 'silence') return await untilGone(stage);
  const body = JSON.stringify(ending?.kind === 'error' ? { error: ending.error } : completionOf(step, stage.context));
  const broken = ending?.kind === 'cut' || ending?.kind === 'clean';
  await write(broken ? body.slice(0, body.length / 2) : body, step, stage);
  if (ending?.kind === 'cut') return stage.cut();
  stage.response.end();
}

async function playRaw(step: RawStep, stage: Stage): Promise<void> {
  start(stage, step.status, step.headers);
  await write(step.body, step, stage);
  if (step.then === 'cut') return stage.cut();
  if (step.then === 'silence') return await untilGone(stage);
  stage.response.end();
}

function start({ response }: Stage, status: number, headers: Readonly<Record<string, string>>): void {
  response.writeHead(status, { ...headers, ...SCRIPTED_HEADERS });
  response.flushHeaders();
}

async function hold(step: AnswerStep, chunks: number, stage: Stage): Promise<void> {
  if (step.holdAfter?.chunks === chunks) await at(step.holdAfter.until, stage);
}

async function at(wait: Wait, { gone }: Stage): Promise<void> {
  await untilAborted(pass(wait), gone);
}

async function beSilent(commentsEveryMs: number | undefined, stage: Stage): Promise<void> {
  if (commentsEveryMs === undefined) return await untilGone(stage);
  for (;;) {
    await sleep(commentsEveryMs, undefined, { signal: stage.gone });
    await write(': still here\n\n', {}, stage);
  }
}

/** Nothing more until the connection is closed. */
async function untilGone({ gone }: Stage): Promise<void> {
  await untilAborted(new Promise<never>(() => undefined), gone);
}

/** Waits for each write to be handed to the network, so that pieces are pieces there too, and a cut loses none. */
async function write(data: string | Uint8Array, timing: Timing, { response, gone }: Stage): Promise<void> {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data;
  const size = timing.bytesPerWrite ?? Math.max(1, bytes.length);
  for (let from = 0; from < bytes.length; from += size) {
    if (from > 0 && timing.writeDelayMs) await sleep(timing.writeDelayMs, undefined, { signal: gone });
    const piece = bytes.subarray(from, from + size);
    const written = new Promise<void>((resolve, reject) => {
      response.write(piece, (error) => {
        if (!error) resolve();
        // The client has closed its connection: `gone` is about to say so.
        else if (!('code' in error && CLOSED.has(String(error.code)))) reject(error);
      });
    });
    await untilAborted(written, gone);
  }
}

function event(data: JsonObject): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
