/**
 * How a run asks its worker's code short questions: for an agent's spec, for the form of an answer, whether a call needs an
 * approval. Local activities are made for such questions, but are not safe beside queries: `worker/local-ends.ts` says why.
 */
import { patched, proxyActivities, proxyLocalActivities, type ActivityOptions } from '@temporalio/workflow';

/** `summary` is for the Temporal UI, which shows none of a local activity. */
export type ShortOptions = Required<Pick<ActivityOptions, 'startToCloseTimeout' | 'retry' | 'summary'>>;

export async function shortActivity<Input, Output>(
  name: string,
  input: Input,
  { summary, ...options }: ShortOptions,
): Promise<Output> {
  type Activities = Record<string, (input: Input) => Promise<Output>>;
  const activities = areOrdinary()
    ? proxyActivities<Activities>({ ...options, summary })
    : proxyLocalActivities<Activities>(options);
  const activity = activities[name];
  if (activity === undefined) throw new Error(`There is no activity ${name}.`);
  return activity(input);
}

/** False only where an execution is replayed that an earlier version began. */
export function areOrdinary(): boolean {
  return patched('everlap-no-local-questions');
}
