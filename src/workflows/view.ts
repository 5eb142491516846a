/** The answer of the query `state`: small whatever the run holds. */
import { cut } from '../conversation/cut-text.js';
import { cutToJsonBytes } from '../conversation/json-bytes.js';
import { limitsLeft } from './limits.js';
import type { RunView } from './messages.js';
import { statusOf } from './presentation.js';
import type { Run } from './run.js';
import type { ForceFinish } from './run-state.js';
import { waitingCalls } from './waiting-calls.js';

/** Characters of a text that has no bound by nature, and its bytes as JSON: a control character has 6. */
const MAX_TEXT = 2000;
const MAX_BYTES = 6000;

export function viewOf(run: Run): RunView {
  const { state, ending } = run;
  const waiting = waitingCalls(run);
  return {
    agent: cut(String(run.agent), 100),
    task: shown(run.task),
    status: statusOf(run),
    ...(ending !== null && { reason: ending.reason }),
    phase: run.phase,
    transition: state.transition,
    lap: state.lap,
    turn: state.turns,
    model: run.specIfKnown === null ? null : cut(run.model, 200),
    limits: limitsLeft(run.budget, Date.now()),
    pending: waiting.calls,
    pendingCount: waiting.count,
    mode: run.mode,
    ...(state.idleSince !== null &&
      run.session !== undefined && { idleUntil: state.idleSince + run.session.idleTimeoutMs }),
    ...(state.forceFinish !== null && { forceFinish: toldToFinish(state.forceFinish) }),
    queues: { steering: state.steering.length, followUps: state.followUps.length },
    usage: state.usage,
    costUsd: state.costUsd,
    toolCalls: state.toolCalls,
    messages: state.conversation.messages.length,
    compactions: state.compactions,
    lastError: state.lastError === null ? null : shown(state.lastError),
    ...(run.result !== null && { output: run.result.output === null ? null : shown(run.result.output) }),
  };
}

function toldToFinish({ reason }: ForceFinish): NonNullable<RunView['forceFinish']> {
  return reason === undefined ? {} : { reason: shown(reason) };
}

function shown(text: string): string {
  return cutToJsonBytes(cut(text, MAX_TEXT), MAX_BYTES);
}
