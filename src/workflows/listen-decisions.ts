/** The messages by which people decide: approve, deny, answer, setMode. */
import * as api from './messages.js';
import { askGate } from './approvals.js';
import { isRefused, type Refused } from './arguments.js';
import { onBoth } from './both-doors.js';
import { parseAnswer, parseApprove, parseDeny, parseMode, type ApproveArgument } from './decision-arguments.js';
import { findPending, type PendingCall } from './decisions.js';
import type { Run } from './run.js';

export function listenForDecisions(run: Run): void {
  onBoth(run, api.approveSignal, api.approveUpdate, {
    parse: parseApprove,
    check: ({ callId }) => refusalOf(findPending(run.state, callId, 'approve')),
    handle: (argument) => approve(run, argument),
  });
  onBoth(run, api.denySignal, api.denyUpdate, {
    parse: parseDeny,
    check: ({ callId }) => refusalOf(findPending(run.state, callId, 'deny')),
    handle: ({ callId, reason }) => {
      const pending = findPending(run.state, callId, 'deny');
      if (isRefused(pending)) return pending;
      pending.decision = { kind: 'denied', ...(reason !== undefined && { reason }) };
      return { callId, state: 'denied' as const };
    },
  });
  onBoth(run, api.answerSignal, api.answerUpdate, {
    parse: parseAnswer,
    check: ({ callId }) => refusalOf(findPending(run.state, callId, 'answer')),
    handle: ({ callId, text }) => {
      const pending = findPending(run.state, callId, 'answer');
      if (isRefused(pending)) return pending;
      pending.decision = { kind: 'answered', text };
      return { callId, state: 'answered' as const };
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
async function approve(run: Run, { callId, args, remember }: ApproveArgument): Promise<api.DecidedAnswer | Refused> {
  let pending = findPending(run.state, callId, 'approve');
  if (!isRefused(pending) && args !== undefined) {
    const problem = await problemWith(run, pending, args);
    if (problem !== undefined) return { refused: problem };
    // Somebody else may have decided while the arguments were checked.
    pending = findPending(run.state, callId, 'approve');
  }
  if (isRefused(pending)) return pending;
  pending.decision = { kind: 'approved', ...(args && { args }) };
  if (remember !== undefined) {
    const { tool = pending.tool, args: pattern, uses, forMs } = remember;
    run.state.approvalRules = [
      ...run.state.approvalRules,
      {
        tool,
        ...(pattern && { args: pattern }),
        ...(uses !== undefined && { uses }),
        ...(forMs !== undefined && { expiresAt: Date.now() + forMs }),
      },
    ].slice(-MAX_RULES);
  }
  return { callId, state: 'approved' };
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
  return gate.kind === 'result' ? gate.text : undefined;
}

function refusalOf(found: PendingCall | Refused): Refused | undefined {
  return isRefused(found) ? found : undefined;
}
