/**
 * The places where a run may stop: in this order force-finish, pause, cancel, deadline. Limits that forbid only another
 * model call are looked at by the loop, so that a turn that has begun ends in order.
 */
import { CancelledFailure } from '@temporalio/common';
import { CancellationScope, condition } from '@temporalio/workflow';
import type { Ending } from '../agents/result.js';
import { showInSearch } from './presentation.js';
import type { Run } from './run.js';
import type { Phase } from './run-state.js';

/** Waits out a pause. Returns the ending where the run has to end here. */
export async function safePoint(run: Run): Promise<Ending | undefined> {
  // The deadline ends a pause: it counts pauses in. The pause stays asked for, so it must not be looked at again then.
  while (run.state.forceFinish === null && run.state.paused && !run.isPastDeadline) {
    const { phase } = run;
    // Several calls may be about to begin: the first says so.
    if (phase !== 'paused') show(run, 'paused');
    await condition(() => !run.state.paused || run.state.forceFinish !== null || run.isPastDeadline);
    if (phase !== 'paused') show(run, phase);
  }
  const forced = takeForceFinish(run);
  if (forced) return forced;
  if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('The run was cancelled.');
  return run.isPastDeadline ? { status: 'exhausted', reason: 'deadline' } : undefined;
}

function show(run: Run, phase: Phase): void {
  run.enter(phase);
  showInSearch(run);
}

export function takeForceFinish(run: Run): Ending | undefined {
  return run.state.forceFinish === null ? undefined : { status: 'stopped', reason: 'force_finished' };
}

/**
 * Waits until all that came in this workflow task has had its effect: messages, timers, a cancel, in whatever order.
 * Rejects where that has cancelled the work at hand.
 */
export async function allTakenIn(): Promise<void> {
  // Looked at once right here, and again when no more work is left to do.
  let looks = 0;
  await condition(() => (looks += 1) > 1);
}
