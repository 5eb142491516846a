/**
 * One call of an agent as a child workflow: how it is started, what it may spend, and what its end means. Never the end of
 * the calling run. Cancel and the deadline come to it through the scope in which it runs, force-finish by signal.
 */
import {
  ApplicationFailure,
  CancelledFailure,
  ChildWorkflowFailure,
  WorkflowExecutionAlreadyStartedError,
} from '@temporalio/common';
import {
  CancellationScope,
  ChildWorkflowCancellationType,
  getExternalWorkflowHandle,
  isCancellation,
  ParentClosePolicy,
  sleep,
  startChild,
  type ChildWorkflowHandle,
} from '@temporalio/workflow';
import type { ToolCallInfo } from '../agents/define-tool.js';
import { limitOptions } from '../agents/limits.js';
import type { AgentResult } from '../agents/result.js';
import type { AgentRunInput } from '../agents/run-input.js';
import type { AgentToolSpec } from '../agents/spec.js';
import { WORKFLOW_TYPE } from '../agents/wire.js';
import { cutToJsonBytes, utf8Length } from '../conversation/json-bytes.js';
import { shortHash } from '../conversation/short-hash.js';
import { carve, withChild, type Budget, type Spent } from './child-budget.js';
import { outcomeOfChild } from './child-result.js';
import { newChild, type OpenChild } from './children.js';
import { dropUnkeepable } from './control.js';
import { passDown, type AgentWorkflow } from './pass-down.js';
import { showWaiting, toolSummary } from './presentation.js';
import { failed, type Outcome } from './run-call.js';
import type { Run } from './run.js';
import type { RunnableCall } from './tool-plan.js';

/** A run of the same id is open still: that of the execution before a reset, which is about to be cancelled. */
const MAX_OFFERS = 5;
const OFFER_WAIT_MS = 2000;
/** SQL databases of a Temporal server have room for 255. */
const MAX_ID_BYTES = 240;
/** For a child to end, once the calling run has to: until then its usage can still be counted. */
const END_WAIT_MS = 30_000;

/** Rejects only with a cancellation. */
export async function runChild(
  run: Run,
  { tool, args }: RunnableCall,
  { callId, idempotencyKey }: ToolCallInfo,
): Promise<Outcome> {
  const calls = run.agentCallsToCome;
  run.agentCallsToCome -= 1;
  const { agent } = tool;
  const { task } = args;
  if (typeof task !== 'string' || task.trim() === '') return failed('Error: give the task as a text, in "task".');
  if (agent === undefined) return failed(`Error: ${tool.name} names no agent.`);
  const depth = (run.input.parent?.depth ?? 0) + 1;
  if (depth > (agent.maxDepth ?? Infinity)) {
    return failed(`Not run: agents may call agents ${agent.maxDepth} levels deep, and you are there. Do it yourself.`);
  }
  const reserved = [...run.children.values()].map((child) => child.reserved);
  const budget = carve(run.budget, reserved, calls, agent.limits ?? {});
  if ('status' in budget) return failed(`Not run: nothing of this run's budget is left for it (${budget.reason}).`);
  const child = newChild(childId(idempotencyKey), budget);
  run.children.set(child.runId, child);
  try {
    const input = inputOf(run, agent, task, budget, { runId: run.id, callId, depth });
    return await ended(run, agent, child, () => start(input, child.runId, toolSummary(tool.name, args)));
  } finally {
    close(run, child);
  }
}

/** The idempotency key of the call, unless it is too long for the id of a workflow: each level adds to it. */
function childId(key: string): string {
  if (utf8Length(key) <= MAX_ID_BYTES) return key;
  return `${cutToJsonBytes(key, MAX_ID_BYTES - 20)}~${shortHash(key)}`;
}

function inputOf(
  run: Run,
  agent: AgentToolSpec,
  task: string,
  budget: Budget,
  parent: NonNullable<AgentRunInput['parent']>,
): AgentRunInput {
  const limits = limitOptions({ ...agent.limits, ...budget });
  return {
    agent: agent.name,
    task,
    // It answers one call, and has done its work then.
    settings: { limits, session: null, ...(run.mode === 'plan' && { mode: 'plan' }) },
    parent,
  };
}

async function start(
  input: AgentRunInput,
  workflowId: string,
  staticSummary: string,
): Promise<ChildWorkflowHandle<AgentWorkflow>> {
  for (let offers = 1; ; offers += 1) {
    try {
      return await startChild<AgentWorkflow>(WORKFLOW_TYPE, {
        workflowId,
        args: [input],
        staticSummary,
        parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
        cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
      });
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError) || offers >= MAX_OFFERS) throw error;
      await sleep(OFFER_WAIT_MS);
    }
  }
}

/**
 * A cancel that was on its way while the child was being started has found nobody, and is not sent again by the SDK: the
 * child would run on, and be waited for. Once more changes nothing where the first one did arrive.
 */
async function cancelAgain(run: Run, childId: string): Promise<void> {
  try {
    await CancellationScope.nonCancellable(() => getExternalWorkflowHandle(childId).cancel());
  } catch (error) {
    run.note(`The run ${childId} could not be cancelled: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** What became of the child, its usage counted. */
async function ended(
  run: Run,
  { name }: AgentToolSpec,
  child: OpenChild,
  started: () => Promise<ChildWorkflowHandle<AgentWorkflow>>,
): Promise<Outcome> {
  const { maxChars } = run.spec.toolResult;
  try {
    const handle = await started();
    if (CancellationScope.current().consideredCancelled) await cancelAgain(run, handle.workflowId);
    const stop = passDown(run, handle);
    const result = await endOf(handle).finally(stop);
    settle(run, child, result ?? child.last);
    if (result === null) {
      run.note(`The run ${child.runId} was cancelled, and has not ended within ${END_WAIT_MS / 1000} seconds.`);
      throw new CancelledFailure('The run was cancelled.');
    }
    return outcomeOfChild(name, { result, lastText: child.last?.text ?? null }, maxChars);
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) {
      return failed(`Error: the agent ${name} was not started: a run of the id ${child.runId} is open.`);
    }
    if (!(error instanceof ChildWorkflowFailure)) throw error;
    const result = resultIn(error);
    settle(run, child, result ?? child.last);
    if (isCancellation(error) && CancellationScope.current().consideredCancelled) throw error;
    const cancelled = { status: 'cancelled', reason: 'cancelled', output: null } as const;
    const how = result ?? (isCancellation(error) ? cancelled : null);
    return outcomeOfChild(name, { result: how, lastText: child.last?.text ?? null }, maxChars);
  }
}

/** A failed run's failure carries its result. */
function resultIn({ cause }: ChildWorkflowFailure): AgentResult | null {
  const detail = cause instanceof ApplicationFailure ? cause.details?.[0] : undefined;
  return isResult(detail) ? detail : null;
}

function isResult(value: unknown): value is AgentResult {
  return typeof value === 'object' && value !== null && 'status' in value && 'usage' in value && 'costUsd' in value;
}

/**
 * The child's result. After a cancel it is waited for so long only, as a child whose own workflow tasks fail cannot end: null
 * then.
 */
async function endOf(handle: ChildWorkflowHandle<AgentWorkflow>): Promise<AgentResult | null> {
  let patience: CancellationScope | 'not needed' | undefined;
  const givenUp = CancellationScope.current().cancelRequested.catch(async (cancelled: unknown) => {
    // Others of the same answer may be cancelled long after this one has ended.
    if (patience === 'not needed') throw cancelled;
    await CancellationScope.nonCancellable(() => {
      const timer = new CancellationScope();
      patience = timer;
      return timer.run(() => sleep(END_WAIT_MS));
    });
    return null;
  });
  try {
    return await Promise.race([handle.result(), givenUp]);
  } finally {
    if (typeof patience === 'object') patience.cancel();
    patience = 'not needed';
  }
}

function settle(run: Run, child: OpenChild, spent: Spent | null): void {
  Object.assign(run.state, withChild(run.state, spent, child.reserved));
  dropUnkeepable(run);
}

function close(run: Run, child: OpenChild): void {
  run.children.delete(child.runId);
  showWaiting(run, child.pendingCount > 0);
}
