/** Exit codes: what a script learns from how a run ended. */
import type { Status } from '../agents/result.js';

export const EXIT = {
  ok: 0,
  /** A run that failed, and every error of the command itself. */
  failed: 1,
  /** The reader of standard output is gone: as a process that SIGPIPE ended. */
  brokenPipe: 141,
  /** Ctrl-C: of a run that goes on, too, so that no script takes it for completed. */
  interrupted: 130,
} as const;

const OF_RUN: Readonly<Record<Status, number>> = {
  completed: EXIT.ok,
  exhausted: 2,
  stopped: 3,
  failed: EXIT.failed,
  cancelled: 130,
};

export function exitCodeOf(status: Status): number {
  return OF_RUN[status];
}

export const EXIT_CODES_HELP = `
Exit codes: 0 completed, 2 exhausted (a limit), 3 stopped (force-finished, stuck), 1 failed, 130 cancelled, or
detached with Ctrl-C while the run goes on.`;
