/** The messages by which people decide: approve, deny, answer, setMode. */
import { CancellationScope, condition, getExternalWorkflowHandle, isCancellation } from '@temporalio/workflow';
import * as api from './messages.js';
import { isRefused, type Refused } from './arguments.js';
import { onBoth } from './both-doors.js';
import { keyOf, reporterOf, type CallBelow } from './children.js';
import { parseAnswer, parseApprove, parseDeny, parseMode, type ApproveArgument } from './decision-arguments.js';
import { findTarget, type CallName } from './decision-target.js';
import { askGate } from './gates.js';
import { notOpen, type Decision, type PendingCall, type Verb } from './decisions.js';
import { showWaiting } from './presentation.js';
import type { Run } from './run.js';
import { isWaiting } from './waiting-calls.js';

export function listenForDecisions(run: Run): void {
  const check = (verb: Verb) => (name: CallName) => {
    const target = findTarget(run, name, verb);
    return isRefused(target) ? target : undefined;
  };
  onBoth(run, api.approveSignal, api.approveUpdate, {
    parse: parseApprove,
    check: check('approve'),
    handle: (argument) => approve(run, argument),
  });
  onBoth(run, api.denySignal, api.denyUpdate, {
    parse: parseDeny,
    check: check('deny'),
    handle: ({ reason, ...name }) => {
      const target = findTarget(run, name, 'deny');
      if (isRefused(target)) return target;
      const why = reason === undefined ? {} : { reason };
      if ('below' in target) return passOn(run, target.below, api.denySignal, { callId: name.callId, ...why });
      return settled(target.own, { kind: 'denied', ...why });
    },
  });
  onBoth(run, api.answerSignal, api.answerUpdate, {
    parse: parseAnswer,
    check: check('answer'),
    handle: ({ text, ...name }) => {
      const target = findTarget(run, name, 'answer');
      if (isRefused(target)) return target;
      if ('below' in target) return passOn(run, target.below, api.answerSignal, { callId: name.callId, text });
      return settled(target.own, { kind: 'answered', text });
    },
  });
  onBoth(run, api.setModeSignal, api.setModeUpdate, {
    parse: parseMode,
    handle: ({ mode }) => {
      run.state.mode = mode;
      return { mode };
    },
  });
}

/** Approves a call. Changed arguments are checked by the tool first; the call stays open where they do not fit. */
async function approve(run: Run, { args, remember, ...name }: ApproveArgument): Promise<api.DecidedAnswer | Refused> {
  const { callId } = name;
  // Before the check of arguments, which an earlier version made by a local activity: after one, the clock may say something
  // else when it is replayed.
  const now = Date.now();
  let target = findTarget(run, name, 'approve');
  if (!isRefused(target) && 'own' in target && args !== undefined) {
    const problem = await problemWith(run, target.own, args);
    if (problem !== undefined) return { refused: problem };
    // Somebody else may have decided while the arguments were checked.
    target = findTarget(run, name, 'approve');
  }
  if (isRefused(target)) return target;
  if ('below' in target) {
    const { forMs, ...rule } = remember ?? {};
    return passOn(run, target.below, api.approveSignal, {
      callId,
      ...(args && { args }),
      ...(remember && { remember: { ...rule, ...(forMs !== undefined && { for: forMs }) } }),
    });
  }
  const pending = target.own;
  const answer = await settled(pending, { kind: 'approved', ...(args && { args }) });
  if (remember !== undefined && !isRefused(answer)) {
    const { tool = pending.tool, args: pattern, uses, forMs } = remember;
    run.state.approvalRules = [
      ...run.state.approvalRules,
      {
        tool,
        ...(pattern && { args: pattern }),
        ...(uses !== undefined && { uses }),
        ...(forMs !== undefined && { expiresAt: now + forMs }),
      },
    ].slice(-MAX_RULES);
  }
  return answer;
}

/** Hands the decision to the call that waits. Refused where what came in the same moment has closed the call. */
async function settled(pending: PendingCall, decision: Decision): Promise<api.DecidedAnswer | Refused> {
  const { callId } = pending;
  pending.decision = decision;
  await CancellationScope.nonCancellable(() => condition(() => pending.fate !== 'open'));
  if (pending.fate === 'taken') return { callId, state: decision.kind };
  return notOpen(callId);
}

/** Rules are carried over: they need a bound. The oldest go first. */
const MAX_RULES = 200;

async function problemWith(
  run: Run,
  { callId, tool: name }: PendingCall,
  args: ApproveArgument['args'],
): Promise<string | undefined> {
  const tool = run.spec.tools.find((one) => one.name === name);
  if (tool === undefined || args === undefined) return undefined;
  const { lap, turns } = run.state;
  const call = { runId: run.id, lap, turn: turns, callId, idempotencyKey: '' };
  const gate = await askGate(run, tool, { args, call });
  // As a tool's result it begins so, for the model.
  return gate.kind === 'result' ? gate.text.replace(/^Error: /, '') : undefined;
}

type DecisionSignal = typeof api.approveSignal | typeof api.denySignal | typeof api.answerSignal;

/**
 * Tells the run that waits. Until it reports, nobody else can decide the call here; but with changed arguments, which it
 * may find wrong, the call stays open.
 */
async function passOn(
  run: Run,
  call: CallBelow,
  signal: DecisionSignal,
  message: object,
): Promise<api.DecidedAnswer | Refused> {
  const child = 'args' in message ? undefined : reporterOf(run.children, call);
  const waited = isWaiting(run);
  child?.decided.add(keyOf(call));
  showWaiting(run, waited !== isWaiting(run));
  try {
    // With its run: a call of the same id may wait further below.
    await getExternalWorkflowHandle(call.run).signal<[unknown]>(signal.name, { ...message, run: call.run });
  } catch (error) {
    if (isCancellation(error)) throw error;
    child?.decided.delete(keyOf(call));
    return { refused: `The run ${call.run}, in which the call waits, could not be told; it may have ended.` };
  }
  return { callId: call.callId, state: 'passed_on', run: call.run };
}
