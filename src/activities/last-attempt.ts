/**
 * When a model call under way has to stop. A run that is told to finish cancels its call, so that no further attempt is
 * made, and takes the answer of this one if it comes: only the run itself knows that it is not cancelled altogether.
 */
import { Context } from '@temporalio/activity';
import { ABORTED, unlessAborted } from '../waiting/interruptible.js';
import type { RunView } from '../workflows/messages.js';

/** For the run to say which. Where it cannot, the call stops. */
const ANSWER_MS = 2000;
/** Between two questions whether the run has ended after all. */
const ASK_EVERY_MS = 2000;

export interface LastAttempt {
  /** Aborts with the activity's cancellation, unless the run only finishes: then when that has ended. */
  readonly signal: AbortSignal;
  /** The attempt is over. */
  stop(): void;
}

export function lastAttempt(): LastAttempt {
  const context = Context.current();
  const { cancellationSignal } = context;
  const abort = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let over = false;
  const look = async (): Promise<void> => {
    const finishes = context.cancellationDetails?.cancelRequested === true && (await isFinishing(context));
    if (over) return;
    if (finishes) timer = setTimeout(() => void look(), ASK_EVERY_MS);
    else abort.abort(cancellationSignal.reason);
  };
  const onCancel = (): void => void look();
  if (cancellationSignal.aborted) onCancel();
  else cancellationSignal.addEventListener('abort', onCancel, { once: true });
  return {
    signal: abort.signal,
    stop: () => {
      over = true;
      clearTimeout(timer);
      cancellationSignal.removeEventListener('abort', onCancel);
    },
  };
}

/** The run is told to finish, and has not ended. False where it cannot be asked. */
async function isFinishing(context: Context): Promise<boolean> {
  const { workflowExecution: execution } = context.info;
  if (execution === undefined) return false;
  try {
    // An activity in a test of its own has no client.
    const run = context.client.workflow.getHandle(execution.workflowId, execution.runId);
    const view = await unlessAborted(run.query<RunView>('state'), AbortSignal.timeout(ANSWER_MS));
    return view !== ABORTED && view.forceFinish !== undefined && view.reason === undefined;
  } catch {
    return false;
  }
}
