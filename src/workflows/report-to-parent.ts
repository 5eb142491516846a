/**
 * What a child run tells the run that called it, by signal: which of its calls wait for a person, whenever that changes
 * (what changes while a signal is on its way goes with the next one), and what it had, where it ends without an answer.
 */
import { CancellationScope, condition, getExternalWorkflowHandle, isCancellation } from '@temporalio/workflow';
import type { Ending } from '../agents/result.js';
import { cutText, headAndTail } from '../conversation/cut-text.js';
import { inBackground } from './background.js';
import type { ChildReport, LastReport } from './children.js';
import { childReportSignal } from './messages.js';
import type { Run } from './run.js';
import { waitingCalls } from './waiting-calls.js';

const MAX_LAST_TEXT = 10_000;

/** Starts reporting; returns how to stop. A run without a parent has nobody to tell. */
export function reportToParent(run: Run): () => void {
  if (run.input.parent === undefined) return () => undefined;
  return inBackground(() => watch(run));
}

async function watch(run: Run): Promise<never> {
  for (;;) {
    // Not in the middle of answers of gates: one report for all of them; and of local gates, as an earlier version had them,
    // it is not replayed alike how they come.
    await condition(() => run.gatesAsked === 0 && !parentKnows(run));
    const waiting = JSON.stringify(waitingCalls(run));
    await tell(run);
    run.toldParent = waiting;
  }
}

/**
 * Whether the parent has been told what waits here now. An execution that ends sooner takes its last report with it: the
 * next one begins with nothing that waits, and would not know what the parent believes.
 */
export function parentKnows(run: Run): boolean {
  return run.input.parent === undefined || JSON.stringify(waitingCalls(run)) === run.toldParent;
}

/** The last report: a cancelled workflow returns no result, and other ends without an answer no words. */
export async function reportLast(run: Run, ending: Ending): Promise<void> {
  if (run.input.parent === undefined || ending.status === 'completed') return;
  const { lastText, lastAnswer, usage, costUsd } = run.state;
  const last = lastText ?? lastAnswer;
  const text = last === null ? null : headAndTail(last, MAX_LAST_TEXT);
  await CancellationScope.nonCancellable(() => tell(run, { usage, costUsd, text }));
}

async function tell(run: Run, last?: LastReport): Promise<void> {
  const { parent } = run.input;
  if (parent === undefined) return;
  const { calls, count } = waitingCalls(run);
  const report: ChildReport = {
    runId: run.id,
    pending: calls.map((call) => ({ ...call, run: call.run ?? run.id })),
    pendingCount: count,
    ...(last && { last }),
  };
  try {
    await getExternalWorkflowHandle(parent.runId).signal(childReportSignal, report);
  } catch (error) {
    if (isCancellation(error)) throw error;
    const why = error instanceof Error ? error.message : String(error);
    run.note(`The run ${parent.runId}, which called this one, could not be told what waits here: ${cutText(why, 500)}`);
  }
}
