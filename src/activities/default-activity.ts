/**
 * The activity for whatever a worker has no other for: tools of MCP servers, whose names nobody knows when it starts; and
 * tools that a deploy has removed. Without it, the SDK would fail the workflow task of a removed `execution: 'local'` tool's
 * run, for ever.
 */
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';

/** Takes any input: that of activities which are not Everlap's, too. */
type DefaultActivity = (...input: unknown[]) => unknown;

/**
 * @param ours undefined for what it does not take.
 * @param theirs the worker's own activities: what is not ours goes to the default one among them, where there is one.
 */
export function defaultActivity(
  ours: (activityType: string, input: unknown) => Promise<unknown> | undefined,
  theirs: object,
): DefaultActivity {
  const own: unknown = Reflect.get(theirs, 'default');
  return async (...input) => {
    const { activityType } = Context.current().info;
    const called = ours(activityType, input[0]);
    if (called !== undefined) return called;
    if (typeof own === 'function') {
      const answer: unknown = Reflect.apply(own, theirs, input);
      return answer;
    }
    throw notRegistered(activityType);
  };
}

/** As the SDK says it where there is no default activity. @param nonRetryable whoever asked tries again by other means. */
export function notRegistered(activityType: string, nonRetryable = false): ApplicationFailure {
  const message = `Activity function ${activityType} is not registered on this Worker.`;
  return ApplicationFailure.create({ type: 'NotFoundError', message, nonRetryable });
}
