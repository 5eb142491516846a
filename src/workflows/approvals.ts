/**
 * Whether a call may run: at once, after a person's decision, or not at all. Waiting costs no timer and no history, unless
 * the tool has a time limit for it; the wait ends with a decision, a force-finish, a cancel or the deadline.
 */
import { condition } from '@temporalio/workflow';
import type { ToolSpec } from '../agents/spec.js';
import type { Json, JsonObject } from '../conversation/json.js';
import { approvedByRule, callName, closePending, type Decision, type PendingCall } from './decisions.js';
import type { Gate } from './gates.js';
import { showWaiting } from './presentation.js';
import type { Run } from './run.js';
import { allTakenIn } from './safe-point.js';
import { forbids, PLAN_MODE, type RunnableCall } from './tool-plan.js';

/** `run`: with these arguments, which a person may have changed. `refuse`: the text is the call's result. */
export type Verdict =
  /** `byPerson`: somebody has said so of this very call. */
  | { readonly kind: 'run'; readonly args: JsonObject; readonly byPerson?: true }
  | { readonly kind: 'result'; readonly text: string; readonly isError?: true }
  /** The run is to end: the call's result says so, as that of every call that was not run. */
  | { readonly kind: 'closed' };

/** Whether a person may have to be asked: such calls do not hold up their free neighbours. */
export function mayWait(tool: ToolSpec): boolean {
  return tool.execution === 'question' || tool.approval !== 'never';
}

/** @param askedAt when the answer with the call came, in milliseconds since the epoch. */
export async function decide(run: Run, planned: RunnableCall, gate: Gate, askedAt: number): Promise<Verdict> {
  const { tool, args } = planned;
  if (tool.execution === 'question') return answerTo(run, planned);
  if (gate.kind === 'free') return granted(run, args);
  if (gate.kind === 'result') return gate;
  // Nobody is asked for what would not run anyway: the mode may have changed meanwhile.
  if (forbids(run.mode, tool)) return refuse(PLAN_MODE);
  if (isUsedUp(run)) return refuse(USED_UP);
  if (approvedByRule(run.state, tool.name, args, askedAt)) return granted(run, args);
  const decision = await waitFor(run, planned, 'approval');
  switch (decision.kind) {
    case 'approved':
      return { kind: 'run', args: decision.args ?? args, byPerson: true };
    case 'denied':
      return refuse(
        `Denied by a person, so ${tool.name} was not run.${decision.reason ? ` Reason: ${decision.reason}` : ''}`,
      );
    case 'used_up':
      return refuse(USED_UP);
    case 'ended':
      return { kind: 'closed' };
    default:
      return refuse(`Denied: nobody approved ${tool.name} in time, so it was not run.`);
  }
}

/** A question to a person: the answer is the result. */
async function answerTo(run: Run, planned: RunnableCall): Promise<Verdict> {
  const { question, options = [] } = planned.args;
  if (typeof question !== 'string' || question.trim() === '') {
    return refuse('Error: give the question as a text, in "question". Nobody was asked.');
  }
  if (!Array.isArray(options) || options.some((option: Json) => typeof option !== 'string')) {
    return refuse('Error: options must be a list of texts. Nobody was asked.');
  }
  const decision = await waitFor(run, planned, 'question');
  if (decision.kind === 'ended') return { kind: 'closed' };
  if (decision.kind === 'answered') return { kind: 'result', text: decision.text };
  const { defaultAnswer } = planned.tool;
  return defaultAnswer === undefined
    ? refuse('No answer came in time. Go on with your own best judgement, and say that you did.')
    : { kind: 'result', text: defaultAnswer };
}

function granted(run: Run, args: JsonObject): Verdict {
  run.callsToCome += 1;
  return { kind: 'run', args };
}

/** Calls that have begun, or are sure to, have used up the limit. */
function isUsedUp({ budget, callsToCome }: Run): boolean {
  return budget.toolCalls + callsToCome >= (budget.limits.toolCalls ?? Infinity);
}

export const USED_UP = 'Not run: the limit of tool calls is reached.';

/** What ended a wait. `ended`: the run is to end. `used_up`: other calls have taken what the limit allows. */
type Waited = Decision | { readonly kind: 'ended' } | { readonly kind: 'used_up' } | { readonly kind: 'too_late' };

/**
 * Waits for a decision. Whoever decides is told that the decision holds only when nothing has come in the same workflow
 * task that goes before it; from then on the call is as good as begun.
 */
async function waitFor(run: Run, { call, tool, args }: RunnableCall, kind: PendingCall['kind']): Promise<Waited> {
  const { state } = run;
  const timeout = tool.approvalTimeoutMs;
  const pending: PendingCall = {
    kind,
    callId: callName(call.id),
    tool: tool.name,
    args,
    since: Date.now(),
    ...(timeout !== undefined && { expiresAt: Date.now() + timeout }),
    decision: null,
    fate: 'open',
  };
  const isCallLeft = (): boolean => kind === 'question' || !isUsedUp(run);
  const over = (): boolean => pending.decision !== null || state.forceFinish !== null || !isCallLeft();
  state.pending.push(pending);
  showWaiting(run, state.pending.length === 1);
  try {
    await (timeout === undefined ? condition(over) : condition(over, timeout));
    await allTakenIn();
    if (state.forceFinish !== null) return { kind: 'ended' };
    const { decision } = pending;
    if (!isCallLeft() && decision?.kind !== 'denied') return { kind: 'used_up' };
    if (decision === null) return { kind: 'too_late' };
    pending.fate = 'taken';
    if (decision.kind === 'approved') run.callsToCome += 1;
    return decision;
  } finally {
    if (pending.fate === 'open') pending.fate = 'closed';
    closePending(state, pending.callId);
    showWaiting(run, state.pending.length === 0);
  }
}

function refuse(text: string): Verdict {
  return { kind: 'result', text, isError: true };
}
