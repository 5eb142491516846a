/** From however a workflow ended to an AgentResult. */
import { WorkflowFailedError, type Client } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { AgentResult } from '../agents/result.js';
import { RESULT_MEMO } from '../agents/wire.js';
import { outsideEnd } from '../watch/outside-end.js';
import { parseResult } from '../watch/wire-shapes.js';
import type { RunHandle } from './run-handle.js';

type Asked = Pick<RunHandle, 'id' | 'temporal' | 'state'>;

export async function awaitResult(client: Client, run: Asked): Promise<AgentResult> {
  try {
    const result = parseResult(await run.temporal.result());
    if (result !== undefined) return result;
    throw new Error(`The workflow ${run.id} ended with something that is no AgentResult; is it an agentRun?`);
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    return (await resultOfFailure(client, run, error.cause)) ?? (await withoutResult(run, error));
  }
}

async function resultOfFailure(client: Client, run: Asked, cause: Error | undefined): Promise<AgentResult | undefined> {
  if (cause instanceof ApplicationFailure) return parseResult(cause.details?.[0]);
  if (!(cause instanceof CancelledFailure)) return undefined;
  const { memo } = await client.workflow.getHandle(run.id).describe();
  return parseResult(memo?.[RESULT_MEMO]);
}

/** Terminated, timed out, or cancelled before its first workflow task: the run itself had no chance to say anything. */
async function withoutResult(run: Asked, error: WorkflowFailedError): Promise<AgentResult> {
  const cancelled = error.cause instanceof CancelledFailure;
  const view = await run.state().catch(() => undefined);
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
