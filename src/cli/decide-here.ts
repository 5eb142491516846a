/** Asks the person at the terminal for what waits in a run, and in runs below it: approvals, and questions of agents. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { PendingView, RunHandle } from '../client.js';
import { isJsonObject } from '../conversation/json.js';
import { sentenceOf } from './cli-error.js';
import { printable } from './output.js';
import type { Terminal } from './terminal.js';
import type { Transcript } from './transcript.js';

/** A query writes nothing into the run's history. */
const LOOK_EVERY_MS = 500;

export interface Here {
  /** Opened when there is something to ask: until then, keys are the shell's. */
  readonly terminal: () => Terminal;
  readonly transcript: Transcript;
}

/** Goes on until the signal aborts. What somebody else decides meanwhile is not asked for any more. */
export async function decideHere(run: RunHandle, here: Here, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const [call] = await pendingOf(run);
    if (call === undefined) await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
    else await decide(run, call, here, signal);
  }
}

async function decide(run: RunHandle, call: PendingView, here: Here, signal: AbortSignal): Promise<void> {
  const { transcript } = here;
  const terminal = here.terminal();
  const withdrawn = new AbortController();
  const stopLooking = lookFor(run, call, withdrawn);
  transcript.line(printable(call.kind === 'question' ? questionText(call) : approvalText(call)));
  transcript.asking = terminal;
  try {
    const line = await terminal.ask('> ', AbortSignal.any([signal, withdrawn.signal]), true);
    transcript.asking = null;
    if (line === null && withdrawn.signal.aborted) return transcript.line('It was decided elsewhere.');
    // No more lines will come: the run waits for somebody else.
    if (line === null) return await aborted(signal);
    if (line.trim() !== '') transcript.line(await send(run, call, line.trim()));
  } finally {
    transcript.asking = null;
    stopLooking();
  }
}

/** What became of it, for the person who decided. */
async function send(run: RunHandle, call: PendingView, line: string): Promise<string> {
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

function approvalText({ tool, args, run }: PendingView): string {
  const whose = run === undefined ? '' : ` (in the run ${run})`;
  return `Approve ${tool} ${args}${whose}?\ny: yes, a: yes, and all later calls of this tool, n: no; anything else: no, and why`;
}

function questionText(call: PendingView): string {
  const { question, options } = askedOf(call);
  return [question, ...options.map((option, at) => `  ${at + 1}: ${option}`)].join('\n');
}

/** A number stands for the option that has it. */
function chosen(call: PendingView, line: string): string {
  return askedOf(call).options[Number(line) - 1] ?? line;
}

/** As the model asked it; the arguments as they are where they are too long to be whole. */
function askedOf({ args }: PendingView): { question: string; options: string[] } {
  let asked: unknown;
  try {
    asked = JSON.parse(args);
  } catch {
    asked = undefined;
  }
  const { question, options } = isJsonObject(asked) ? asked : {};
  const texts = Array.isArray(options) ? options.filter((option) => typeof option === 'string') : [];
  return { question: typeof question === 'string' ? question : args, options: texts };
}

/** Aborts when the call does not wait any more. Returns how to stop looking. */
function lookFor(run: RunHandle, call: PendingView, gone: AbortController): () => void {
  let looking = false;
  const timer = setInterval(() => {
    if (looking) return;
    looking = true;
    void pendingOf(run)
      .then((pending) => pending.every((one) => one.callId !== call.callId || one.run !== call.run) && gone.abort())
      .finally(() => (looking = false));
  }, LOOK_EVERY_MS);
  return () => clearInterval(timer);
}

/** Whoever follows the run is told what is wrong with the server or the worker; here, nothing waits then. */
async function pendingOf(run: RunHandle): Promise<readonly PendingView[]> {
  return run.state().then(
    ({ pending }) => pending,
    () => [],
  );
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
