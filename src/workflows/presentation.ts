/** What the reader of the Temporal UI sees: details, summaries, search attributes. Never a secret, never long. */
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { upsertSearchAttributes } from '@temporalio/workflow';
import { oneLine } from '../conversation/cut-text.js';
import type { JsonObject } from '../conversation/json.js';
import type { Run } from './run.js';
import { limitsLeft, tokensOf } from './limits.js';
import { isWaiting, waitingCalls } from './waiting-calls.js';

const AGENT = defineSearchAttributeKey('EverlapAgent', SearchAttributeType.KEYWORD);
const STATUS = defineSearchAttributeKey('EverlapStatus', SearchAttributeType.KEYWORD);
const REASON = defineSearchAttributeKey('EverlapReason', SearchAttributeType.KEYWORD);
const TURNS = defineSearchAttributeKey('EverlapTurns', SearchAttributeType.INT);
const COST = defineSearchAttributeKey('EverlapCostUsd', SearchAttributeType.DOUBLE);

export function modelSummary(turn: number, model: string): string {
  return oneLine(`turn ${turn} · ${model}`, 100);
}

/** `read_invoice number=17` */
export function toolSummary(name: string, args: JsonObject): string {
  const shown = Object.entries(args).map(([key, value]) => {
    return `${key}=${oneLine(typeof value === 'string' ? value : JSON.stringify(value), 40)}`;
  });
  return oneLine([name, ...shown].join(' '), 100);
}

/** Markdown: where the run stands, what it waits for, what it cost. */
export function describeProgress(run: Run): string {
  const { state } = run;
  const lines = [
    `**${statusOf(run)}** · ${run.phase} · lap ${state.lap} · turn ${state.turns}`,
    `Agent ${run.agent}: ${oneLine(run.task, 200)}`,
    `Cost ${costText(state.costUsd)} · ${tokensOf(state.usage)} tokens · ${state.toolCalls} tool calls`,
  ];
  if (state.forceFinish !== null) lines.push(`To finish${because(state.forceFinish.reason)}`);
  const left = Object.entries(limitsLeft(run.budget, Date.now())).map(
    ([name, { left, limit }]) => `${name} ${left} of ${limit}`,
  );
  if (left.length > 0) lines.push(`Left: ${left.join(', ')}`);
  if (state.steering.length + state.followUps.length > 0) {
    lines.push(`Waiting: ${state.steering.length} steering, ${state.followUps.length} follow-ups`);
  }
  for (const { kind, callId, tool, args, run: below } of waitingCalls(run).calls.slice(0, 20)) {
    lines.push(
      `Waits for ${kind === 'question' ? 'an answer to' : 'approval of'} ${oneLine(`${tool} ${args}`, 100)} (call ${oneLine(callId, 100)}${below === undefined ? '' : ` of the run ${oneLine(below, 200)}`})`,
    );
  }
  if (state.lastError !== null) lines.push(`Last error: ${oneLine(state.lastError, 300)}`);
  return lines.join('\n\n');
}

/** `running`, `paused`, `waiting`, `idle`, or how it ended. */
export function statusOf(run: Run): string {
  if (run.ending !== null) return run.ending.status;
  if (run.phase === 'paused' || run.phase === 'idle') return run.phase;
  return isWaiting(run) ? 'waiting' : 'running';
}

/** After a change of what waits for a person. `turned`: now something does that did not, or the other way round. */
export function showWaiting(run: Run, turned: boolean): void {
  run.showProgress();
  if (turned) showInSearch(run);
}

function because(reason: string | undefined): string {
  return reason === undefined ? '' : `: ${oneLine(reason, 300)}`;
}

function costText(costUsd: number | null): string {
  return costUsd === null ? 'unknown' : `$${costUsd.toFixed(4)}`;
}

/**
 * Writes the search attributes, where the namespace has them. Each write is an event, so this is for changes of status
 * (start, pause, end, continue-as-new), not for every turn.
 */
export function showInSearch(run: Run): void {
  if (run.specIfKnown?.searchAttributes !== true) return;
  const { state, ending } = run;
  upsertSearchAttributes([
    { key: AGENT, value: run.agent },
    { key: STATUS, value: statusOf(run) },
    { key: TURNS, value: state.turns },
    { key: COST, value: state.costUsd ?? null },
    ...(ending === null ? [] : [{ key: REASON, value: ending.reason }]),
  ]);
}
