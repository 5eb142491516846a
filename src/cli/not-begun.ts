/** What a run waits for of which nothing is heard after its start. Pure. */
import type { WorkflowExecutionDescription } from '@temporalio/client';
import { oneLine } from './output.js';
import { HOW_TO_GET_A_WORKER } from './workers.js';

/** `SCHEDULED` of `temporal.api.enums.v1`: `PendingActivityState` and `PendingWorkflowTaskState` alike. */
const SCHEDULED = 1;

export type Pending = Pick<WorkflowExecutionDescription['raw'], 'pendingActivities' | 'pendingWorkflowTask'>;

export function waitsFor({ pendingActivities, pendingWorkflowTask }: Pending): string {
  const [activity] = pendingActivities ?? [];
  if (activity) {
    const { activityType, attempt = 1, state, lastFailure } = activity;
    const name = activityType?.name ?? 'of no name';
    const what = name === 'listMcpTools' ? 'the list of its MCP servers’ tools' : `the activity ${name}`;
    if (state === SCHEDULED && attempt === 1) {
      return `The run waits for ${what}, which no worker has taken up yet; ${HOW_TO_GET_A_WORKER}.`;
    }
    const failed = lastFailure?.message ? ` The last attempt failed: ${oneLine(lastFailure.message, 300)}` : '';
    return `The run waits for ${what} (attempt ${attempt}).${failed}`;
  }
  if (!pendingWorkflowTask) return 'A worker has taken up the run; nothing has been heard of it yet.';
  const { state } = pendingWorkflowTask;
  const attempt = pendingWorkflowTask.attempt ?? 1;
  if (attempt > 1) return `A worker has taken up the run and fails at it (attempt ${attempt}); its log says why.`;
  return state === SCHEDULED
    ? `No worker has taken up the run yet; ${HOW_TO_GET_A_WORKER}. The run waits.`
    : 'A worker has taken up the run and is busy with its beginning.';
}
