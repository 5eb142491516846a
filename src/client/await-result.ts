/** From however a workflow ended to an AgentResult. */
import {
  WorkflowContinuedAsNewError,
  WorkflowFailedError,
  type Client,
  type WorkflowExecutionDescription,
  type WorkflowHandle,
} from '@temporalio/client';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { AgentResult } from '../agents/result.js';
import { RESULT_MEMO } from '../agents/wire.js';
import { outsideEnd } from '../watch/outside-end.js';
import { parseResult } from '../watch/wire-shapes.js';
import type { RunView } from '../workflows/messages.js';

/** `temporal.api.enums.v1.HistoryEventFilterType` */
const CLOSE_EVENT = 2;

/**
 * Of the run that has this id now, over all its executions. Another may follow under the same id before the end of this
 * one is told, so each execution is asked by its own id.
 */
export async function awaitResult(client: Client, { id }: { readonly id: string }): Promise<AgentResult> {
  const { runId } = await client.workflow.getHandle(id).describe();
  for (let next = runId; ;) {
    const ended = await endOf(client, { workflowId: id, runId: next });
    if (typeof ended !== 'string') return ended;
    next = ended;
  }
}

export interface Execution {
  readonly workflowId: string;
  readonly runId: string;
}

/** Waits for the end of one execution. The result, or the run id of the execution in which the run goes on. */
export async function endOf(client: Client, execution: Execution): Promise<AgentResult | string> {
  const { workflowId, runId } = execution;
  const handle = client.workflow.getHandle(workflowId, runId, { followRuns: false });
  try {
    const result = parseResult(await handle.result());
    if (result !== undefined) return result;
    throw new Error(
      `The workflow ${workflowId} completed with a result of its own, as one may that calls runAgent, and not with an ` +
        `AgentResult. To read it: client.handle('${workflowId}').temporal.result()`,
    );
  } catch (error) {
    if (error instanceof WorkflowContinuedAsNewError) return error.newExecutionRunId;
    if (!(error instanceof WorkflowFailedError)) throw error;
    const described = await handle.describe();
    const reset = described.raw.workflowExtendedInfo?.resetRunId;
    const next = reset || (await retryOf(client, execution));
    return next || (resultLeft(described, error.cause) ?? (await withoutResult(handle, error)));
  }
}

/** The execution that a retry policy of the workflow itself has started. */
async function retryOf(client: Client, execution: Execution): Promise<string | null | undefined> {
  const { history } = await client.workflowService.getWorkflowExecutionHistory({
    namespace: client.options.namespace,
    execution,
    historyEventFilterType: CLOSE_EVENT,
  });
  const [closed] = history?.events ?? [];
  const { workflowExecutionFailedEventAttributes: failed, workflowExecutionTimedOutEventAttributes: timedOut } =
    closed ?? {};
  return failed?.newExecutionRunId || timedOut?.newExecutionRunId;
}

function resultLeft({ memo }: WorkflowExecutionDescription, cause: Error | undefined): AgentResult | undefined {
  if (cause instanceof ApplicationFailure) return parseResult(cause.details?.[0]);
  return cause instanceof CancelledFailure ? parseResult(memo?.[RESULT_MEMO]) : undefined;
}

/** Terminated, timed out, or cancelled before its first workflow task: the run itself had no chance to say anything. */
async function withoutResult(handle: WorkflowHandle, error: WorkflowFailedError): Promise<AgentResult> {
  const cancelled = error.cause instanceof CancelledFailure;
  const view = await handle.query<RunView>('state').catch(() => undefined);
  return {
    ...(cancelled ? { status: 'cancelled', reason: 'cancelled' } : { status: 'failed', reason: 'internal' }),
    output: null,
    turns: view?.turn ?? 0,
    laps: view?.lap ?? 1,
    toolCalls: view?.toolCalls ?? 0,
    usage: view?.usage ?? { input: 0, output: 0 },
    costUsd: view?.costUsd ?? null,
    unconsumedSteering: [],
    error: outsideEnd(error.cause?.message ?? error.message),
  };
}
