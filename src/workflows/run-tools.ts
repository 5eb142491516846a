/**
 * The tool calls of one answer. Whatever happens to a call, it ends as exactly one result in the conversation, in call
 * order, directly after the answer: also when the run is cancelled or its deadline comes in the middle.
 */
import { isCancellation, proxyActivities, proxyLocalActivities, sleep } from '@temporalio/workflow';
import type { ToolCallInfo } from '../agents/define-tool.js';
import type { ToolSpec } from '../agents/spec.js';
import { TOOL_FAILURE, toolActivity, type ToolInput, type ToolOutput } from '../agents/wire.js';
import { callsOf, toolResult } from '../conversation/conversation.js';
import { headAndTail } from '../conversation/cut-text.js';
import type { ToolCall, ToolMessage } from '../conversation/message.js';
import { shortHash } from '../conversation/short-hash.js';
import { readFailure, type FailedActivity } from './activity-failures.js';
import type { TurnAnswer } from './ask-model.js';
import { toolSummary } from './presentation.js';
import { DeadlinePassed, type Run } from './run.js';
import { safePoint } from './safe-point.js';
import { groupCalls, planCalls, type PlannedCall } from './tool-plan.js';

/** Beyond a tool's own timeout, for the worker to end it itself and say so. */
const GRACE_MS = 5000;
/** Times that a `once` tool is offered again to workers, after one that did not know it (a deploy under way). */
const MAX_UNREGISTERED = 5;
const UNREGISTERED_WAIT_MS = 2000;
/** Characters of all results of one turn together: they travel in one payload with the next model call. */
const MAX_TURN_CHARS = 400_000;

type RunnableCall = Extract<PlannedCall, { kind: 'run' }>;
interface Outcome {
  readonly text: string;
  readonly isError?: true;
}

/** Runs the calls of an answer and puts their results into the conversation. Returns them, for the stuck check. */
export async function runTools(run: Run, answer: TurnAnswer): Promise<readonly ToolMessage[]> {
  const calls = callsOf(answer.message);
  const outcomes: Outcome[] = [];
  try {
    for (const group of groupCalls(planCalls(run.spec.tools, calls, answer.cut))) {
      const stop = await safePoint(run);
      if (stop !== undefined) break;
      run.enter('tools');
      await run.within(() =>
        Promise.all(
          group.map(async (planned) => {
            outcomes[planned.index] = await outcomeOf(run, planned);
          }),
        ),
      );
    }
  } catch (error) {
    if (!(error instanceof DeadlinePassed)) throw error;
  } finally {
    closeCalls(run, calls, outcomes);
  }
  return run.state.conversation.messages.slice(-calls.length).filter((message) => message.role === 'tool');
}

/** Gives each call its result: its outcome, or a sentence on why it has none. */
export function closeCalls(
  run: Run,
  calls: readonly ToolCall[],
  outcomes: readonly (Outcome | undefined)[] = [],
): void {
  const all = calls.map((_, index) => outcomes[index] ?? notRun(run));
  const total = all.reduce((sum, { text }) => sum + text.length, 0);
  const room = total > MAX_TURN_CHARS ? Math.floor(MAX_TURN_CHARS / calls.length) : total;
  run.say(
    ...calls.map((call, index) => {
      const { text, isError } = all[index] ?? notRun(run);
      return toolResult(call, headAndTail(text, room), isError === true);
    }),
  );
}

function notRun(run: Run): Outcome {
  if (run.state.forceFinish !== null) return failed('Not run: the run was told to finish.');
  if (run.ending !== null && run.ending.status !== 'cancelled') {
    return failed(`Not run: the run has ended (${run.ending.reason}).`);
  }
  if (run.isPastDeadline) return failed('Stopped or not run: the deadline of the run has passed.');
  return failed('Stopped or not run: the run was cancelled.');
}

async function outcomeOf(run: Run, planned: PlannedCall): Promise<Outcome> {
  if (planned.kind === 'refuse') return failed(planned.text);
  const { state } = run;
  if (state.limits.toolCalls !== undefined && state.toolCalls >= state.limits.toolCalls) {
    return failed(`Not run: the limit of ${state.limits.toolCalls} tool calls of this run is reached.`);
  }
  state.toolCalls += 1;
  return runCall(run, planned);
}

async function runCall(run: Run, planned: RunnableCall): Promise<Outcome> {
  const { tool, args } = planned;
  const input: ToolInput = { args, call: callInfo(run, planned) };
  for (let offers = 1; ; offers += 1) {
    const output = await attempt(run, tool, input);
    if ('text' in output) return output;
    if (output.kind === 'unregistered') {
      // It surely did not run. `once` tools have no retry of Temporal's, so a deploy under way is waited out here.
      if (offers >= MAX_UNREGISTERED || tool.effects !== 'once') {
        return failed(`Error: the tool ${tool.name} is not there any more: no worker knows it. Go on without it.`);
      }
      await sleep(UNREGISTERED_WAIT_MS);
    } else if (isKnown(tool, output)) {
      return failed(`Error: ${output.message}`);
    } else {
      const reconciled = await reconcile(run, tool, input, output);
      if (reconciled !== 'not_done') return reconciled;
    }
  }
}

function callInfo(run: Run, { call, index, args, tool }: RunnableCall): ToolCallInfo {
  const { lap, turns } = run.state;
  const hash = shortHash(`${tool.name}\n${JSON.stringify(args)}`);
  return {
    runId: run.id,
    lap,
    turn: turns,
    callId: call.id,
    idempotencyKey: `${run.id}/${lap}/${turns}/${index}/${hash}`,
  };
}

/** One scheduling of the activity, with whatever retries the tool's effects allow. Rejects only with a cancellation. */
async function attempt(run: Run, tool: ToolSpec, input: ToolInput): Promise<Outcome | FailedActivity> {
  try {
    const output = await schedule(run, tool, input);
    return 'text' in output ? output : { kind: 'threw', type: 'Error', message: 'it answered as reconcile does' };
  } catch (error) {
    return failureOf(error);
  }
}

function schedule(run: Run, tool: ToolSpec, input: ToolInput): Promise<ToolOutput> {
  type Activities = Record<string, (input: ToolInput) => Promise<ToolOutput>>;
  const maximumAttempts = tool.effects === 'once' && input.reconcile === undefined ? 1 : tool.attempts;
  const summary = toolSummary(tool.name, input.args);
  const options = {
    startToCloseTimeout: tool.timeoutMs + GRACE_MS,
    retry: { maximumAttempts, initialInterval: 500 },
    summary,
  };
  const activities =
    tool.execution === 'local'
      ? proxyLocalActivities<Activities>(options)
      : proxyActivities<Activities>({ ...options, heartbeatTimeout: run.spec.heartbeatTimeoutMs });
  const activity = activities[toolActivity(tool.name)];
  if (activity === undefined) throw new Error(`There is no activity for the tool ${tool.name}.`);
  return activity(input);
}

/** Whether it is known what the call did. A tool that changes nothing, or the same twice, has no secret to keep. */
function isKnown(tool: ToolSpec, failure: FailedActivity): boolean {
  if (tool.effects !== 'once') return true;
  return failure.kind === 'threw' && failure.type !== TOOL_FAILURE.timeout && failure.type !== TOOL_FAILURE.interrupted;
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
      why = `${why}; asked for its outcome, it failed: ${failureOf(error).message}`;
    }
  }
  const text = `Outcome unknown: ${tool.name} was started, and ${why}. It may or may not have taken effect; find out before you call it again.`;
  run.note(text);
  return failed(text);
}

function failureOf(error: unknown): FailedActivity {
  const failure = isCancellation(error) ? null : readFailure(error);
  if (failure === null) throw error;
  return failure;
}

function failed(text: string): Outcome {
  return { text, isError: true };
}
