/**
 * Whether a call may run: at once, after a person's decision, or not at all. Waiting costs no timer and no history, unless
 * the tool has a time limit for it; the wait ends with a decision, a force-finish, a cancel or the deadline.
 */
import { condition, isCancellation, proxyLocalActivities } from '@temporalio/workflow';
import type { ToolSpec } from '../agents/spec.js';
import { toolActivity, type ToolInput, type ToolOutput } from '../agents/wire.js';
import type { JsonObject } from '../conversation/json.js';
import { readFailure } from './activity-failures.js';
import { approvedByRule, closePending, type Decision, type PendingCall } from './decisions.js';
import { showWaiting } from './presentation.js';
import type { Run } from './run.js';
import type { RunnableCall } from './tool-plan.js';

/** `run`: with these arguments, which a person may have changed. `refuse`: the text is the call's result. */
export type Verdict =
  | { readonly kind: 'run'; readonly args: JsonObject }
  | { readonly kind: 'result'; readonly text: string; readonly isError?: true }
  /** The run is to finish: the call's result says so, as that of every call that was not run. */
  | { readonly kind: 'closed' };

/** Whether a person may have to be asked: such calls do not hold up their free neighbours. */
export function mayWait(tool: ToolSpec): boolean {
  return tool.execution === 'question' || tool.approval !== 'never';
}

export async function decide(run: Run, planned: RunnableCall, input: ToolInput): Promise<Verdict> {
  const { tool, args } = planned;
  if (tool.execution === 'question') return answerTo(run, planned);
  if (tool.approval === 'never' || (tool.approval === 'ask' && run.mode === 'auto')) return { kind: 'run', args };
  const gate = await askGate(run, tool, input);
  if (gate.kind !== 'ask') return gate;
  if (approvedByRule(run.state, tool.name, args, Date.now())) return { kind: 'run', args };
  const decision = await waitFor(run, planned, 'approval');
  if (decision === 'closed') return { kind: 'closed' };
  switch (decision?.kind) {
    case 'approved':
      return { kind: 'run', args: decision.args ?? args };
    case 'denied':
      return refuse(
        `Denied by a person, so ${tool.name} was not run.${decision.reason ? ` Reason: ${decision.reason}` : ''}`,
      );
    default:
      return refuse(`Denied: nobody approved ${tool.name} in time, so it was not run.`);
  }
}

/** A question to a person: the answer is the result. */
async function answerTo(run: Run, planned: RunnableCall): Promise<Verdict> {
  const decision = await waitFor(run, planned, 'question');
  if (decision === 'closed') return { kind: 'closed' };
  if (decision?.kind === 'answered') return { kind: 'result', text: decision.text };
  const { defaultAnswer } = planned.tool;
  return defaultAnswer === undefined
    ? refuse('No answer came in time. Go on with your own best judgement, and say that you did.')
    : { kind: 'result', text: defaultAnswer };
}

/** The decision; null where the time for it has passed; `closed` where the run was told to finish. */
async function waitFor(
  run: Run,
  { call, tool, args }: RunnableCall,
  kind: PendingCall['kind'],
): Promise<Decision | null | 'closed'> {
  const { state } = run;
  const timeout = tool.approvalTimeoutMs;
  const pending: PendingCall = {
    kind,
    callId: call.id,
    tool: tool.name,
    args,
    since: Date.now(),
    ...(timeout !== undefined && { expiresAt: Date.now() + timeout }),
    decision: null,
  };
  state.pending.push(pending);
  showWaiting(run, state.pending.length === 1);
  const over = (): boolean => pending.decision !== null || state.forceFinish !== null;
  try {
    await (timeout === undefined ? condition(over) : condition(over, timeout));
  } finally {
    closePending(state, call.id);
    showWaiting(run, state.pending.length === 0);
  }
  return pending.decision ?? (state.forceFinish === null ? null : 'closed');
}

type Gate = { readonly kind: 'ask' } | Verdict;

/**
 * Asks the tool itself, in an activity: are the arguments right, and does this call need an approval? Where it cannot
 * say, a person decides.
 */
export async function askGate(run: Run, tool: ToolSpec, input: ToolInput): Promise<Gate> {
  try {
    const output = await gateOf(tool)({ ...input, gate: true, ...(tool.mcp && { tool }) });
    if ('ask' in output) return output.ask ? { kind: 'ask' } : { kind: 'run', args: input.args };
    return 'text' in output ? { kind: 'result', ...output } : { kind: 'ask' };
  } catch (error) {
    const failure = isCancellation(error) ? null : readFailure(error);
    if (failure === null) throw error;
    run.note(`Whether ${tool.name} needs an approval could not be told (${failure.message}); a person is asked.`);
    return { kind: 'ask' };
  }
}

function gateOf(tool: ToolSpec): (input: ToolInput) => Promise<ToolOutput> {
  const name = toolActivity(tool.name);
  const gate = proxyLocalActivities<Record<string, (input: ToolInput) => Promise<ToolOutput>>>({
    startToCloseTimeout: '10 seconds',
    retry: { maximumAttempts: 3 },
  })[name];
  if (gate === undefined) throw new Error(`There is no activity ${name}.`);
  return gate;
}

function refuse(text: string): Verdict {
  return { kind: 'result', text, isError: true };
}
