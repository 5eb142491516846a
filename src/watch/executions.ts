/** The executions of one run: the first of its chain, and where a reset one went on. */
import { isGrpcServiceError, WorkflowNotFoundError, type Client } from '@temporalio/client';

const NOT_FOUND = 5;

/**
 * The run id of the first execution that the server still has. Older ones of a long run may be past their retention.
 * @throws WorkflowNotFoundError where there is no run of this id.
 */
export async function firstExecution(client: Client, workflowId: string): Promise<string> {
  const { runId, raw } = await client.workflow.getHandle(workflowId).describe();
  const first = raw.workflowExecutionInfo?.firstRunId;
  if (first && (first === runId || (await exists(client, workflowId, first)))) return first;
  for (let oldest = runId; ;) {
    const previous = await previousOf(client, workflowId, oldest);
    if (!previous || !(await exists(client, workflowId, previous))) return oldest;
    oldest = previous;
  }
}

/** The execution that a reset of this one made; undefined where it was not reset. */
export async function resetOf(client: Client, workflowId: string, runId: string): Promise<string | undefined> {
  const { raw } = await client.workflow.getHandle(workflowId, runId).describe();
  return raw.workflowExtendedInfo?.resetRunId || undefined;
}

/** Of an execution: a missing namespace is another matter, with a message of its own. */
export function isNotFound(error: unknown): boolean {
  if (error instanceof WorkflowNotFoundError) return true;
  return isGrpcServiceError(error) && error.code === NOT_FOUND && !/namespace/i.test(error.details);
}

async function exists(client: Client, workflowId: string, runId: string): Promise<boolean> {
  try {
    await client.workflow.getHandle(workflowId, runId).describe();
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

async function previousOf(client: Client, workflowId: string, runId: string): Promise<string | undefined> {
  const { history } = await client.workflowService.getWorkflowExecutionHistory({
    namespace: client.options.namespace,
    execution: { workflowId, runId },
    maximumPageSize: 1,
  });
  return history?.events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId || undefined;
}
