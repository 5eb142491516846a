/** Runs a shell command in a process group of its own, and ends all of the group. Knows nothing of tools. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { CommandOutput } from './command-output.js';
import { groupWatch } from './group-size.js';
import { codeOf } from './workspace.js';

export interface ProcessRun {
  readonly command: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Characters of output kept of its beginning, and as many of its end. */
  readonly maxChars: number;
  /** Processes at once, itself included, before all of them are ended. Default 1,000. Kept on Linux only. */
  readonly maxProcesses?: number;
  readonly signal: AbortSignal;
}

export interface ProcessEnd {
  /** stdout and stderr as they came. */
  readonly output: string;
  /** null where a signal ended it. */
  readonly exitCode: number | null;
  readonly signalName: NodeJS.Signals | null;
  /** Why it was ended from here: its time was up, or it had too many processes. */
  readonly ended?: 'time' | 'processes';
}

/** From the polite signal to the one that nothing can refuse. */
const GRACE_MS = 2_000;
/** For output still on its way when the command has ended; something outside of the group may hold the pipes open. */
const DRAIN_MS = 500;
export const MAX_PROCESSES = 1_000;
/** A fork bomb makes a thousand processes within this time. */
const COUNT_EVERY_MS = 100;

/**
 * @throws the signal's reason where it was aborted (the group is gone then); Error where nothing could be started.
 */
export async function runProcess(run: ProcessRun): Promise<ProcessEnd> {
  run.signal.throwIfAborted();
  const child = spawn('/bin/sh', ['-c', run.command], {
    cwd: run.cwd,
    env: run.env,
    stdio: ['ignore', 'pipe', 'pipe'],
    // A new session, so a new process group: what the command starts belongs to it.
    detached: true,
  });
  const output = new CommandOutput(run.maxChars);
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (piece: string) => output.add(piece));
  }
  const closed = once(child, 'close').catch(() => {});
  let ended: ProcessEnd['ended'];
  let grace: NodeJS.Timeout | undefined;
  const stuck = new AbortController();
  const end = () => {
    if (!killGroup(child, 'SIGTERM')) stuck.abort(new Error('It runs as another user, so the worker cannot end it.'));
    grace ??= setTimeout(() => killGroup(child, 'SIGKILL'), GRACE_MS);
  };
  const timer = setTimeout(() => {
    ended ??= 'time';
    end();
  }, run.timeoutMs);
  const stopCounting = watchSize(child, run.maxProcesses ?? MAX_PROCESSES, () => {
    ended ??= 'processes';
    killGroup(child, 'SIGKILL');
  });
  run.signal.addEventListener('abort', end);
  try {
    const [exitCode, signalName] = (await once(child, 'exit', { signal: stuck.signal })) as [
      number | null,
      NodeJS.Signals | null,
    ];
    // What it left in the background ends with it.
    killGroup(child, 'SIGKILL');
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, DRAIN_MS).unref())]);
    run.signal.throwIfAborted();
    return { output: output.text(), exitCode, signalName, ...(ended && { ended }) };
  } finally {
    clearTimeout(timer);
    clearTimeout(grace);
    stopCounting();
    run.signal.removeEventListener('abort', end);
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

/** Calls `onTooMany` each time that the group of a process is found to be too large, until it is stopped. */
function watchSize({ pid }: ChildProcess, most: number, onTooMany: () => void): () => void {
  if (pid === undefined) return () => undefined;
  const isTooLarge = groupWatch(pid, most);
  const timer = setInterval(() => {
    if (isTooLarge()) onTooMany();
  }, COUNT_EVERY_MS);
  return () => clearInterval(timer);
}

/** @returns false where the worker may not do so. */
export function killGroup(child: ChildProcess, signal: NodeJS.Signals): boolean {
  if (child.pid === undefined) return true;
  try {
    return process.kill(-child.pid, signal);
  } catch (error) {
    // ESRCH: nobody is left.
    return codeOf(error) === 'ESRCH';
  }
}
