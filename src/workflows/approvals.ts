/**
 * Whether a call may run: at once, after a person's decision, or not at all. Waiting costs no timer and no history, unless
 * the tool has a time limit for it; the wait ends with a decision, a force-finish, a cancel or the deadline.
 */
import { condition, isCancellation, proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { ToolSpec } from '../agents/spec.js';
import { toolActivity, type ToolInput, type ToolOutput } from '../agents/wire.js';
import type { Json, JsonObject } from '../conversation/json.js';
import { readFailure } from './activity-failures.js';
import { approvedByRule, callName, closePending, type Decision, type PendingCall } from './decisions.js';
import { showWaiting } from './presentation.js';
import { isGone } from './run-call.js';
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

export async function decide(run: Run, planned: RunnableCall, input: ToolInput): Promise<Verdict> {
  const { tool, args } = planned;
  // Before the gate: after a local activity the clock may say something else when it is replayed.
  const now = Date.now();
  if (tool.execution === 'question') return answerTo(run, planned);
  if (tool.approval === 'never' || (tool.approval === 'ask' && run.mode === 'auto')) return granted(run, args);
  const gate = await askGate(run, tool, input);
  if (gate.kind === 'run') return granted(run, args);
  if (gate.kind !== 'ask') return gate;
  // Nobody is asked for what would not run anyway: the mode may have changed meanwhile.
  if (forbids(run.mode, tool)) return refuse(PLAN_MODE);
  if (isUsedUp(run)) return refuse(USED_UP);
  if (approvedByRule(run.state, tool.name, args, now)) return granted(run, args);
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

type Gate = { readonly kind: 'ask' } | Verdict;

/**
 * Asks the tool itself, in an activity: are the arguments right, and does this call need an approval? Where it cannot
 * say, a person decides.
 */
export async function askGate(run: Run, tool: ToolSpec, input: ToolInput): Promise<Gate> {
  try {
    const output = await askTool(tool, { ...input, gate: true, ...(tool.mcp && { tool }) });
    if ('ask' in output) return output.ask ? { kind: 'ask' } : { kind: 'run', args: input.args };
    return 'text' in output ? { kind: 'result', ...output } : { kind: 'ask' };
  } catch (error) {
    const failure = isCancellation(error) ? null : readFailure(error);
    if (failure === null) throw error;
    if (failure.kind === 'unregistered') return { kind: 'result', ...isGone(tool) };
    run.note(`Whether ${tool.name} needs an approval could not be told (${failure.message}); a person is asked.`);
    return { kind: 'ask' };
  }
}

type Gates = Record<string, (input: ToolInput) => Promise<ToolOutput>>;

async function askTool({ name }: ToolSpec, input: ToolInput): Promise<ToolOutput> {
  const options = { startToCloseTimeout: '10 seconds', retry: { maximumAttempts: 3 } } as const;
  const ask = (gates: Gates): Promise<ToolOutput> => {
    const gate = gates[toolActivity(name)];
    if (gate === undefined) throw new Error(`There is no activity ${toolActivity(name)}.`);
    return gate(input);
  };
  try {
    return await ask(proxyLocalActivities<Gates>(options));
  } catch (error) {
    if (readFailure(error)?.kind !== 'unregistered') throw error;
    // Another worker may know it: a deploy is under way.
    return ask(proxyActivities<Gates>({ ...options, summary: `${name} · approval?` }));
  }
}

function refuse(text: string): Verdict {
  return { kind: 'result', text, isError: true };
}
