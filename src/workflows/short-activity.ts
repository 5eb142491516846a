/**
 * How a run asks its worker's code short questions: for an agent's spec, for the form of an answer, whether a call needs an
 * approval. Local activities are made for such questions, but are not safe beside queries: `worker/local-ends.ts` says why.
 */
import { ApplicationFailure, type Duration, type RetryPolicy } from '@temporalio/common';
import {
  CancellationScope,
  isCancellation,
  patched,
  proxyActivities,
  proxyLocalActivities,
} from '@temporalio/workflow';

export interface ShortOptions {
  readonly startToCloseTimeout: Duration;
  readonly retry: RetryPolicy;
  /** For the Temporal UI, which shows none of a local activity. */
  readonly summary: string;
}

type Activities<Input, Output> = Record<string, (input: Input) => Promise<Output>>;

export function shortActivity<Input, Output>(name: string, input: Input, options: ShortOptions): Promise<Output> {
  return areOrdinary() ? ordinary(name, input, options) : local(name, input, options);
}

/**
 * False while that part of an execution is replayed which an earlier version has made; the same execution may go on with
 * true.
 */
export function areOrdinary(): boolean {
  return patched('everlap-no-local-questions');
}

export async function ordinary<Input, Output>(name: string, input: Input, options: ShortOptions): Promise<Output> {
  try {
    // Nobody waits for the answer to a question of a run that is cancelled, or past its deadline.
    return await called(name, input, proxyActivities({ ...options, cancellationType: 'TRY_CANCEL' }));
  } catch (error) {
    if (!isCancelledByOthers(error)) throw error;
    throw ApplicationFailure.create({ type: 'Cancelled', message: 'it was cancelled' });
  }
}

/** By somebody else than this run: an operator, the code that was asked, a worker in another language. */
export function isCancelledByOthers(error: unknown): boolean {
  return isCancellation(error) && !CancellationScope.current().consideredCancelled;
}

export function local<Input, Output>(name: string, input: Input, options: ShortOptions): Promise<Output> {
  const { summary: _, ...rest } = options;
  return called(name, input, proxyLocalActivities(rest));
}

/** Calls the activity of this name, which only strings tell. */
export function called<Input, Output>(
  name: string,
  input: Input,
  activities: Activities<Input, Output>,
): Promise<Output> {
  const activity = activities[name];
  if (activity === undefined) throw new Error(`There is no activity ${name}.`);
  return activity(input);
}
