/**
 * One answered model call: which model is asked, how often, and what a failure means for the run.
 * Retries of one model are Temporal's (the activity's retry policy); going on to the next model, compacting after an
 * overflow, and a new try after a lost worker are decided here.
 */
import { ActivityCancellationType, isCancellation, proxyActivities } from '@temporalio/workflow';
import type { Ending, FailedReason } from '../agents/result.js';
import { WORKER_SHUTDOWN, type CallModelInput, type CallModelOutput } from '../agents/wire.js';
import { isLost, isUnknownHead, MAX_LOST, readFailure, type FailedActivity } from './activity-failures.js';
import { compactAfterOverflow, mayCompactAfterOverflow } from './compaction.js';
import { estimatedInput } from './context-size.js';
import { addCost, addUsage, outputBudget } from './limits.js';
import { modelSummary } from './presentation.js';
import { takeForceFinish } from './safe-point.js';
import type { Run } from './run.js';
import { forgetHead, sendable } from './sendable.js';

/** Beyond `model.timeout`, for the worker to end the stream itself and say so. */
const GRACE_MS = 10_000;
/** The summary of an exhausted run: it should end soon, with or without one. */
const LAST_ATTEMPTS = 2;
/** Beyond `model.timeout`, for all attempts of it together and the wait between them. */
const LAST_EXTRA_MS = 30_000;

export interface Answered {
  readonly output: CallModelOutput;
  readonly model: string;
}

/** `last`: the summary of an exhausted run, with tools off, beyond its limits and its deadline; no other model is asked for it. */
type Which = 'next' | 'last';

/** Asks until there is an answer, or the run has to end. Adds up usage and cost; leaves the conversation alone. */
export async function callModel(run: Run, which: Which = 'next'): Promise<Answered | Ending> {
  let lost = 0;
  let attempts = which === 'last' ? Math.min(LAST_ATTEMPTS, run.spec.model.attempts) : run.spec.model.attempts;
  for (;;) {
    const forced = takeForceFinish(run);
    if (forced) return forced;
    const { model } = run;
    const price = run.spec.prices[model];
    const budget = which === 'last' ? {} : outputBudget(run.budget, price, estimatedInput(run));
    if ('status' in budget) return budget;
    run.enter('model');
    let failure: FailedActivity;
    try {
      const call = (): Promise<CallModelOutput | undefined> =>
        run.unlessFinished(() => schedule(run, model, which, attempts, budget.maxOutputTokens));
      const output = await (which === 'last' ? call() : run.within(call));
      if (output === undefined) continue;
      run.state.usage = addUsage(run.state.usage, output.usage);
      run.state.costUsd = addCost(run.state.costUsd, output.usage, price);
      return { output, model };
    } catch (error) {
      const read = isCancellation(error) ? null : readFailure(error);
      if (read === null) throw error;
      failure = read;
    }
    if (isUnknownHead(failure) && run.state.conversation.head.length > 0) {
      forgetHead(run.state.conversation);
      continue;
    }
    run.note(`${model} did not answer: ${failure.message}`);
    if (isOverflow(failure)) {
      if (!mayCompactAfterOverflow(run)) return failed('context_overflow');
      await compactAfterOverflow(run);
    } else if (isLost(failure) && (lost += 1) <= MAX_LOST) {
      attempts = Math.max(1, attempts - attemptsUsed(failure));
    } else {
      const reason = finalReason(failure);
      if (reason !== null) return failed(reason);
      if (which === 'last' || run.state.modelIndex >= run.spec.fallbackModels.length) {
        return failed(isStalled(failure) ? 'stalled' : 'model_unavailable');
      }
      run.state.modelIndex += 1;
      run.state.overflowedAt = null;
      lost = 0;
      attempts = run.spec.model.attempts;
    }
  }
}

function schedule(
  run: Run,
  model: string,
  which: Which,
  attempts: number,
  budget: number | undefined,
): Promise<CallModelOutput> {
  const { spec, state } = run;
  const caps = [budget, spec.model.maxOutputTokens].filter((cap) => cap !== undefined);
  const input: CallModelInput = {
    spec: spec.hash,
    lap: state.lap,
    turn: state.turns + 1,
    ...sendable(state.conversation),
    model,
    ...(which === 'last' && { tools: 'none' as const }),
    ...(caps.length > 0 && { maxOutputTokens: Math.min(...caps) }),
    ...(which === 'next' && run.deadline !== undefined && { deadline: run.deadline }),
  };
  return proxyActivities<{ callModel(input: CallModelInput): Promise<CallModelOutput> }>({
    startToCloseTimeout: spec.model.timeoutMs + GRACE_MS,
    ...(which === 'last' && { scheduleToCloseTimeout: spec.model.timeoutMs + LAST_EXTRA_MS }),
    heartbeatTimeout: spec.heartbeatTimeoutMs,
    retry: { maximumAttempts: attempts, initialInterval: 1000, maximumInterval: 30_000 },
    // A force-finish ends the retries, and takes the answer that is being made.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary: modelSummary(input.turn, model),
  }).callModel(input);
}

function isOverflow(failure: FailedActivity): boolean {
  return failure.kind === 'threw' && failure.type === 'overflow';
}

/** Attempts that the model had before its worker shut down. */
function attemptsUsed(failure: FailedActivity): number {
  const { type, detail } = failure.kind === 'threw' ? failure : { type: '', detail: undefined };
  return type === WORKER_SHUTDOWN && typeof detail === 'number' ? detail - 1 : 0;
}

function isStalled(failure: FailedActivity): boolean {
  return failure.kind === 'timeout' || (failure.kind === 'threw' && failure.type === 'stalled');
}

/** The reason that no other model can help with; null where the next one may. */
function finalReason(failure: FailedActivity): FailedReason | null {
  if (failure.kind !== 'threw') return null;
  switch (failure.type) {
    case 'auth':
    case 'quota':
    case 'content_filter':
    case 'bad_request':
      return failure.type;
    case 'transient':
    case 'stalled':
    case WORKER_SHUTDOWN:
      return null;
    default:
      return 'internal';
  }
}

/** Its sentence is the run's last error (`run.note`). */
function failed(reason: FailedReason): Ending {
  return { status: 'failed', reason };
}
