/** Asks the person at the terminal for what waits in a run, and in runs below it: approvals, and questions of agents. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { PendingView, RunHandle, RunView } from '../client.js';
import { ABORTED, unlessAborted } from '../waiting/interruptible.js';
import { sentenceOf } from './cli-error.js';
import { quoted } from './options.js';
import { printable } from './output.js';
import type { Terminal } from './terminal.js';
import type { Transcript } from './transcript.js';
import { parsedArgs } from './waiting-call.js';

const GONE = 'It does not wait any more: it was decided elsewhere, its time is over, or the run is to end.';

/** A query writes nothing into the run's history. */
export const LOOK_EVERY_MS = 500;

export type Run = Pick<RunHandle, 'id' | 'state' | 'approve' | 'deny' | 'answer'>;

export interface Here {
  /** Opened when there is something to ask: until then, keys are the shell's. */
  readonly terminal: () => Pick<Terminal, 'ask' | 'again'>;
  readonly transcript: Pick<Transcript, 'line' | 'asking'>;
  /** The options that were given, for a command to type. */
  readonly options: string;
}

/** Goes on until the signal aborts. What somebody else decides meanwhile is not asked for any more. */
export async function decideHere(run: Run, here: Here, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const call = (await viewOf(run, signal))?.pending[0];
    if (call === undefined) await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
    else await decide(run, call, here, signal);
  }
}

async function decide(run: Run, call: PendingView, here: Here, signal: AbortSignal): Promise<void> {
  const { transcript } = here;
  const terminal = here.terminal();
  const withdrawn = new AbortController();
  const stopLooking = lookFor(run, call, withdrawn);
  transcript.line(printable(`${questionText(call)}${whereItIsWhole(run.id, call, here.options)}${keysOf(call)}`));
  transcript.asking = terminal;
  try {
    const line = await terminal.ask('> ', AbortSignal.any([signal, withdrawn.signal]), true);
    transcript.asking = null;
    if (line === null && withdrawn.signal.aborted) return transcript.line(GONE);
    // No more lines will come: the run waits for somebody else.
    if (line === null) return await aborted(signal);
    if (line.trim() !== '') transcript.line(await send(run, call, line.trim()));
  } finally {
    transcript.asking = null;
    stopLooking();
  }
}

/** What became of it, for the person who decided. */
async function send(run: Run, call: PendingView, line: string): Promise<string> {
  const { callId } = call;
  const at = { callId, ...(call.run !== undefined && { run: call.run }) };
  try {
    if (call.kind === 'question') {
      await run.answer({ ...at, text: chosen(call, line) });
      return 'Answered.';
    }
    switch (line.toLowerCase()) {
      case 'y':
      case 'yes':
        await run.approve(at);
        return 'Approved.';
      case 'a':
      case 'always':
        await run.approve({ ...at, remember: 'tool' });
        return `Approved, and all later calls of ${call.tool} too.`;
      case 'n':
      case 'no':
        await run.deny(at);
        return 'Denied.';
      default:
        await run.deny({ ...at, reason: line });
        return 'Denied, with that as the reason.';
    }
  } catch (error) {
    // Decided elsewhere, ended, or not reached just now: what still waits is asked for again.
    return sentenceOf(error);
  }
}

function questionText(call: PendingView): string {
  const { question, options } = askedOf(call);
  return [question, ...options.map((option, at) => `  ${at + 1}: ${option}`)].join('\n');
}

/** Nobody should have to decide on half of something. */
export function whereItIsWhole(id: string, call: PendingView, options: string): string {
  if (parsedArgs(call.args) !== undefined) return '';
  return `\nIt is cut here; whole, in another terminal: everlap messages ${quoted(call.run ?? id)}${options}`;
}

function keysOf({ kind }: PendingView): string {
  return kind === 'question'
    ? ''
    : '\ny: yes, a: yes, and all later calls of this tool, n: no; anything else: no, and why';
}

/** A number stands for the option that has it. */
function chosen(call: PendingView, line: string): string {
  return askedOf(call).options[Number(line) - 1] ?? line;
}

/** As the model asked it; the arguments as they are where they are too long to be whole. */
export function askedOf({ kind, tool, args, run }: PendingView): { question: string; options: string[] } {
  const parsed = parsedArgs(args);
  const shown = parsed === undefined ? `${args}…` : args;
  if (kind === 'approval') {
    const whose = run === undefined ? '' : ` (in the run ${run})`;
    return { question: `Approve ${tool} ${shown}${whose}?`, options: [] };
  }
  const { question, options } = parsed ?? {};
  const texts = Array.isArray(options) ? options.filter((option) => typeof option === 'string') : [];
  return { question: typeof question === 'string' ? question : shown, options: texts };
}

/** Aborts when the call does not wait any more. Returns how to stop looking. */
function lookFor(run: Run, call: PendingView, gone: AbortController): () => void {
  let looking = false;
  const timer = setInterval(() => {
    if (looking) return;
    looking = true;
    void viewOf(run, gone.signal)
      .then((view) => view !== undefined && isGone(call, view) && gone.abort())
      .finally(() => (looking = false));
  }, LOOK_EVERY_MS);
  return () => clearInterval(timer);
}

/** Where not all that waits is shown, calls of runs below may be among the rest. */
function isGone({ callId, run, since }: PendingView, { pending, pendingCount }: RunView): boolean {
  if (pending.some((one) => one.callId === callId && one.run === run && one.since === since)) return false;
  return run === undefined || pendingCount <= pending.length;
}

/** undefined where the run does not answer now: whoever follows it is told what is wrong, and here nothing is known then. */
export async function viewOf(run: Pick<Run, 'state'>, signal: AbortSignal): Promise<RunView | undefined> {
  const view = await unlessAborted(
    run.state().catch(() => undefined),
    signal,
  );
  return view === ABORTED ? undefined : view;
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
