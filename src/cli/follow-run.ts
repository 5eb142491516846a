/** Shows a run until it has ended or somebody detaches. What `run`, `watch` and the demo have in common. */
import type { AgentResult } from '../agents/result.js';
import type { RunHandle } from '../client/run-handle.js';
import { CliError, sentenceOf } from './cli-error.js';
import { decideHere } from './decide-here.js';
import { waitsFor } from './not-begun.js';
import { optionsText, quoted, type CommonFlags } from './options.js';
import { note, printJson } from './output.js';
import { tellWaiting } from './tell-waiting.js';
import { Terminal } from './terminal.js';
import { Transcript } from './transcript.js';

/** A run of which nothing is heard by then is worth a word. */
const UNHEARD_AFTER_MS = 10_000;

export interface FollowOptions {
  readonly json: boolean;
  /** Detaches. */
  readonly signal: AbortSignal;
  /** Id of the last event that was seen already. */
  readonly after?: string;
  /** Somebody sits at the terminal, and decides what waits for a person. Else it is told. */
  readonly attended?: boolean;
  /** The options that were given, for a command to type. */
  readonly flags?: CommonFlags;
}

/** How it ended; or, where it was detached from, the id of the last event that was shown. */
export type Followed = { readonly result: AgentResult } | { readonly detachedAfter: string | undefined };

/** @throws RunNotFoundError; CliError where the server went away meanwhile. */
export async function followRun(
  run: RunHandle,
  { json, signal, after, attended = false, flags = {} }: FollowOptions,
): Promise<Followed> {
  const transcript = json ? null : new Transcript();
  const stopDeciding = transcript ? startDeciding(run, transcript, { attended, flags }) : undefined;
  let last = after;
  const unheard = new AbortController();
  const unseen = setTimeout(() => void tellNotBegun(run, unheard.signal), UNHEARD_AFTER_MS);
  try {
    const onRetry = (error: Error): void => note(`The connection is lost and tried again (${sentenceOf(error)}).`);
    for await (const event of run.live({ signal, onRetry, ...(after !== undefined && { after }) })) {
      if (event.type !== 'run_started' && event.type !== 'lap_started') unheard.abort();
      if ('id' in event) last = event.id;
      if (event.type !== 'ended') {
        if (transcript) transcript.show(event);
        else printJson(event);
        continue;
      }
      transcript?.show(event);
      if (json) printJson({ type: 'result', result: event.result });
      return { result: event.result };
    }
    if (signal.aborted) return { detachedAfter: last };
  } catch (error) {
    if (signal.aborted) return { detachedAfter: last };
    if (last === after) throw error;
    throw new CliError(
      `${sentenceOf(error)} The run itself goes on; to watch on: ${watchCommand(run.id, flags, last)}`,
      {
        cause: error,
      },
    );
  } finally {
    clearTimeout(unseen);
    unheard.abort();
    await stopDeciding?.();
    transcript?.stop();
  }
  throw new CliError(
    `The events of the run ${run.id} stopped before its end; to watch on: ${watchCommand(run.id, flags, last)}`,
  );
}

/** @param signal aborts when something is heard of the run. */
async function tellNotBegun(run: RunHandle, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  // Where the server does not answer now, that is told as a lost connection.
  const found = await run.temporal.describe().catch(() => undefined);
  if (found !== undefined && !signal.aborted) note(waitsFor(found.raw));
}

/** Returns how to stop. */
function startDeciding(
  run: RunHandle,
  transcript: Transcript,
  { attended, flags }: { readonly attended: boolean; readonly flags: CommonFlags },
): () => Promise<void> {
  const stop = new AbortController();
  let terminal: Terminal | undefined;
  const here = { transcript, terminal: () => (terminal ??= new Terminal()), options: optionsText(flags) };
  const deciding = attended ? decideHere(run, here, stop.signal) : tellWaiting(run, here, stop.signal);
  return async () => {
    stop.abort();
    await deciding;
    terminal?.close();
  };
}

/** What to type to go on, with the options that were given. */
export function watchCommand(runId: string, flags: CommonFlags, after: string | undefined): string {
  return `everlap watch ${quoted(runId)}${optionsText(flags)}${after === undefined ? '' : ` --after ${quoted(after)}`}`;
}

/** Says on standard error how to watch on and how to cancel. */
export function sayDetached(runId: string, flags: CommonFlags, after: string | undefined): void {
  note(
    [
      'Detached: the run goes on.',
      `  to watch it:   ${watchCommand(runId, flags, after)}`,
      `  to cancel it:  everlap cancel ${quoted(runId)}${optionsText(flags)}`,
    ].join('\n'),
  );
}
