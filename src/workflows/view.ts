/** The answer of the query `state`: small whatever the run holds. */
import { cut } from '../conversation/cut-text.js';
import { limitsLeft } from './limits.js';
import type { RunView } from './messages.js';
import { statusOf } from './presentation.js';
import type { Run } from './run.js';

/** Characters of a text that has no bound by nature. All together stay far under 64 KB, even at 3 bytes each. */
const MAX_TEXT = 2000;
/** Pending calls that are shown, the oldest first; `pendingCount` has them all. */
const MAX_PENDING = 30;
const MAX_ARGS = 500;

export function viewOf(run: Run): RunView {
  const { state, ending } = run;
  return {
    agent: cut(String(run.input.agent), 100),
    task: cut(run.task, MAX_TEXT),
    status: statusOf(run),
    ...(ending !== null && { reason: ending.reason }),
    phase: run.phase,
    transition: state.transition,
    lap: state.lap,
    turn: state.turns,
    model: run.specIfKnown === null ? null : cut(run.model, 200),
    limits: limitsLeft(state, Date.now()),
    pending: state.pending.slice(0, MAX_PENDING).map(({ kind, callId, tool, args, expiresAt }) => ({
      kind,
      callId: cut(callId, 200),
      tool,
      args: cut(JSON.stringify(args), MAX_ARGS),
      ...(expiresAt !== undefined && { expiresAt }),
    })),
    pendingCount: state.pending.length,
    mode: run.mode,
    queues: { steering: state.steering.length, followUps: state.followUps.length },
    usage: state.usage,
    costUsd: state.costUsd,
    toolCalls: state.toolCalls,
    messages: state.conversation.messages.length,
    compactions: state.compactions,
    lastError: state.lastError,
    ...(run.result !== null && { output: run.result.output === null ? null : cut(run.result.output, MAX_TEXT) }),
  };
}
