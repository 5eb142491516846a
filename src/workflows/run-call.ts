/**
 * One tool call as an activity: how it is scheduled, and what its failure means. A call that ran is never run again
 * unless its tool's effects allow it; where nobody knows whether it ran, that is what the model is told.
 */
import { isCancellation, proxyActivities, proxyLocalActivities, sleep } from '@temporalio/workflow';
import type { ToolCallInfo } from '../agents/define-tool.js';
import type { ToolSpec } from '../agents/spec.js';
import {
  DEFAULT_MAX_CHARS,
  MAX_TURN_CHARS,
  READ_RESULT_NAME,
  TOOL_FAILURE,
  TOOL_GRACE_MS,
  toolActivity,
  type ToolInput,
  type ToolOutput,
} from '../agents/wire.js';
import type { JsonObject } from '../conversation/json.js';
import { shortHash } from '../conversation/short-hash.js';
import { readFailure, type FailedActivity } from './activity-failures.js';
import { toolSummary } from './presentation.js';
import type { Run } from './run.js';
import { called, isCancelledByOthers } from './short-activity.js';
import type { RunnableCall } from './tool-plan.js';

/** Times that a `once` tool, or a question about any, is offered to workers: one may not know it (a deploy under way). */
export const MAX_UNREGISTERED = 5;
export const UNREGISTERED_WAIT_MS = 2000;

/** What becomes of a call: the text that the model reads. */
export interface Outcome {
  readonly text: string;
  readonly isError?: true;
}

/** Runs a call; rejects only with a cancellation. */
export async function runCall(run: Run, tool: ToolSpec, input: ToolInput): Promise<Outcome> {
  let undone = 0;
  for (let offers = 1; ;) {
    const output = await attempt(run, tool, input);
    if ('text' in output) return output;
    if (output.kind === 'unregistered') {
      // A local one was asked of this run's own worker only; another may know it.
      if (tool.execution === 'local') return runCall(run, { ...tool, execution: 'activity' }, input);
      // It surely did not run. `once` tools have no retry of Temporal's, so a deploy under way is waited out here.
      if (offers >= MAX_UNREGISTERED || tool.effects !== 'once') {
        return isGone(tool);
      }
      offers += 1;
      await sleep(UNREGISTERED_WAIT_MS);
    } else if (isKnown(tool, output)) {
      return failed(`Error: ${output.message}`);
    } else {
      const reconciled = await reconcile(run, tool, input, output);
      if (reconciled !== 'not_done') return reconciled;
      undone += 1;
      if (undone >= tool.attempts) {
        return failed(
          `Error: ${tool.name} was started ${undone} times without effect; the last time ${output.message}.`,
        );
      }
    }
  }
}

/** The input of a call's activity. The key is equal over attempts and resets, and never for another call or run. */
export function inputOf(run: Run, planned: RunnableCall, args: JsonObject): ToolInput {
  const { toolResult, tools } = run.spec;
  // What ends the run is its output, and nobody reads on in that.
  const most = planned.tool.ends ? MAX_TURN_CHARS : toolResult.maxChars;
  const maxChars = Math.min(most, Math.floor(MAX_TURN_CHARS / planned.of));
  const isReadable = tools.some(({ name }) => name === READ_RESULT_NAME);
  return {
    args,
    call: callInfo(run, planned, args),
    ...(maxChars !== DEFAULT_MAX_CHARS && { maxChars }),
    ...(planned.tool.mcp && { spec: run.spec.hash }),
    ...(!isReadable && { stored: false as const }),
  };
}

function callInfo(run: Run, { call, index, tool }: RunnableCall, args: JsonObject): ToolCallInfo {
  const { lap, turns } = run.state;
  const hash = shortHash(`${run.chain}\n${tool.name}\n${JSON.stringify(args)}`);
  return {
    runId: run.id,
    lap,
    turn: turns,
    callId: call.id,
    idempotencyKey: `${run.keyPrefix}/${lap}/${turns}/${index}/${hash}`,
  };
}

/** One scheduling of the activity, with whatever retries the tool's effects allow. Rejects only with a cancellation. */
async function attempt(run: Run, tool: ToolSpec, input: ToolInput): Promise<Outcome | FailedActivity> {
  try {
    const output = await schedule(run, tool, input);
    // Whatever a team's own default activity makes of a tool that is gone may be anything.
    if (typeof output === 'object' && output !== null && 'text' in output) return output;
    return { kind: 'threw', type: 'Error', message: `${tool.name} answered with something that is no result` };
  } catch (error) {
    return failureOf(tool, error);
  }
}

function schedule(run: Run, tool: ToolSpec, input: ToolInput): Promise<ToolOutput> {
  type Activities = Record<string, (input: ToolInput) => Promise<ToolOutput>>;
  const maximumAttempts = tool.effects === 'once' && input.reconcile === undefined ? 1 : tool.attempts;
  const summary = toolSummary(tool.name, input.args);
  const options = {
    startToCloseTimeout: tool.timeoutMs + TOOL_GRACE_MS,
    retry: { maximumAttempts, initialInterval: 500 },
    summary,
  };
  const activities =
    tool.execution === 'local'
      ? proxyLocalActivities<Activities>(options)
      : proxyActivities<Activities>({ ...options, heartbeatTimeout: run.spec.heartbeatTimeoutMs });
  return called(toolActivity(tool.name), input, activities);
}

/** Whether it is known what the call did. A tool that changes nothing, or the same twice, has no secret to keep. */
function isKnown(tool: ToolSpec, failure: FailedActivity): boolean {
  if (tool.effects !== 'once') return true;
  return failure.kind === 'threw' && failure.type === TOOL_FAILURE.error;
}

/** Asks a `once` tool whose outcome is unknown; without a `reconcile` of its own the model has to find out. */
async function reconcile(
  run: Run,
  tool: ToolSpec,
  input: ToolInput,
  failure: FailedActivity,
): Promise<Outcome | 'not_done'> {
  let why = failure.message;
  if (tool.reconciles) {
    try {
      const answer = await schedule(run, tool, { ...input, reconcile: true });
      return 'text' in answer ? answer : 'not_done';
    } catch (error) {
      why = `${why}; asked for its outcome, it failed: ${failureOf(tool, error).message}`;
    }
  }
  const text = `Outcome unknown: ${tool.name} was started, and ${why}. It may or may not have taken effect; find out before you call it again.`;
  run.note(text);
  return failed(text);
}

function failureOf({ execution }: ToolSpec, error: unknown): FailedActivity {
  // A local activity cannot tell by whom: when it is replayed, its end comes before the timer that has cancelled it.
  if (execution !== 'local' && isCancelledByOthers(error))
    return { kind: 'threw', type: 'Cancelled', message: 'it was cancelled' };
  const failure = isCancellation(error) ? null : readFailure(error);
  if (failure === null) throw error;
  return failure;
}

export function isGone({ name }: ToolSpec): Outcome {
  return failed(`Error: the tool ${name} is not there any more: no worker knows it. Go on without it.`);
}

export function failed(text: string): Outcome {
  return { text, isError: true };
}
