/**
 * When a conversation is compacted, and to how much. What is cut, and what stays, is decided in
 * `conversation/compaction.ts`; the summary is written by the activity `compactConversation`.
 */
import { isCancellation, proxyActivities } from '@temporalio/workflow';
import { MAX_SUMMARY_ATTEMPTS, type CompactInput, type CompactOutput } from '../agents/wire.js';
import { applyCompaction, planCompaction, withoutSummary } from '../conversation/compaction.js';
import { headAndTail } from '../conversation/cut-text.js';
import { estimateMessages } from '../conversation/estimate.js';
import { isLost, isUnknownHead, MAX_LOST, readFailure } from './activity-failures.js';
import { estimatedInput, fixedTokens, tokensPerEstimate } from './context-size.js';
import { addCost, addUsage, outputBudget } from './limits.js';
import type { Run } from './run.js';
import { newConversation } from './run-state.js';
import { forgetHead, sendable } from './sendable.js';

/** A provider that still says "too long" after this many compactions is not helped by another. */
const MAX_OVERFLOWS_IN_A_ROW = 2;
/** Share of the mark at which a conversation is compacted that it may have afterwards. */
const TARGET_SHARE = 0.6;
/** Share of what a provider found too long that may be sent next: half of it, then a tenth. */
const OVERFLOW_SHARES = [0.5, 0.1] as const;
/** Share of the mark by which a compacted conversation must have grown before it is compacted again. */
const LEAST_GROWTH = 0.1;
/** Of the target, the least that the messages get, however long instructions and tools are. */
const LEAST_SHARE = 0.25;
/** Tokens that the messages may have where payloads are the limit: about 1 MB of JSON. */
const PAYLOAD_TOKENS = 250_000;
/** Characters of the last answer, which is in the conversation too, where payloads are the limit. */
const MAX_CARRIED_TEXT = 100_000;
/** Beyond `model.timeout`, for the worker to end the stream itself and say so. */
const GRACE_MS = 10_000;

/**
 * Before a call: compacts what is estimated to be over the mark. One that stays over it, since people's own words are
 * that long, is left alone until it has grown.
 */
export async function compactIfLong(run: Run): Promise<void> {
  if (estimatedInput(run) <= mark(run)) return;
  const { compactedTo, messages } = run.state.conversation;
  if (compactedTo !== null && estimateMessages(messages) < compactedTo + mark(run) * LEAST_GROWTH) return;
  await compact(run, mark(run) * TARGET_SHARE);
}

export function mayCompactAfterOverflow({ state }: Run): boolean {
  return state.overflowsInARow < MAX_OVERFLOWS_IN_A_ROW;
}

/** After a provider's "too long": the window is smaller than it is known to be, or the estimate was wrong. */
export async function compactAfterOverflow(run: Run): Promise<void> {
  const { state } = run;
  state.transition = 'overflow';
  state.overflowedAt = estimatedInput(run);
  const share = OVERFLOW_SHARES[state.overflowsInARow] ?? 0;
  state.overflowsInARow += 1;
  await compact(run, Math.min(mark(run) * TARGET_SHARE, state.overflowedAt * share));
}

/** Where the state would not fit the payload of continue-as-new. */
export async function compactForPayload(run: Run): Promise<void> {
  const { state } = run;
  for (const field of ['lastText', 'lastAnswer'] as const) {
    state[field] = state[field] && headAndTail(state[field], MAX_CARRIED_TEXT);
  }
  await compact(run, Math.min(mark(run) * TARGET_SHARE, PAYLOAD_TOKENS));
}

/** Tokens from which on a conversation is too long. */
function mark({ spec, state }: Run): number {
  return Math.min(spec.context.window, state.overflowedAt ?? Infinity) * spec.context.compactAt;
}

/**
 * Replaces the older part of the conversation by a summary. Without one, turns are dropped, and that is said.
 * @param tokens that the next call may send, in the model's own tokens.
 */
async function compact(run: Run, tokens: number): Promise<void> {
  const { phase, state } = run;
  run.enter('compacting');
  const all = tokens / tokensPerEstimate(run);
  const targetTokens = Math.floor(Math.max(all * LEAST_SHARE, all - fixedTokens(run)));
  const planned = await plannedOrFinished(run, targetTokens);
  if (planned === undefined) return run.enter(phase);
  const { plan, head, usage, problem } = planned;
  if (usage !== undefined) {
    state.usage = addUsage(state.usage, usage);
    state.costUsd = addCost(state.costUsd, usage, run.spec.prices[summaryModel(run)]);
  }
  const messages = applyCompaction(state.conversation.messages, plan);
  state.compactions += 1;
  state.conversation = { ...newConversation(messages), compactedTo: estimateMessages(messages) };
  if (head !== undefined) state.conversation.head = { hash: head, length: messages.length };
  if (problem !== undefined) run.note(`The conversation was shortened without a summary: ${problem}`);
  run.enter(phase);
}

/** undefined where the run is to finish: it needs no summary then. */
async function plannedOrFinished(run: Run, targetTokens: number): Promise<CompactOutput | undefined> {
  const { spec, state } = run;
  const aim = { keepTurns: spec.context.keepTurns, targetTokens };
  const alone = (problem: string): CompactOutput => {
    const { messages } = state.conversation;
    return { plan: withoutSummary(messages, planCompaction(messages, aim), aim), problem };
  };
  // Nearly all of the conversation is read for its summary.
  const budget = outputBudget(run.budget, spec.prices[summaryModel(run)], estimatedInput(run));
  if ('status' in budget) return alone(`its own limit (${budget.reason}) does not allow one.`);
  for (let lost = 1; ; lost += 1) {
    try {
      return await run.within(() => run.unlessFinished(() => schedule(run, targetTokens)));
    } catch (error) {
      const failure = isCancellation(error) ? null : readFailure(error);
      if (failure === null) throw error;
      if (isUnknownHead(failure) && state.conversation.head.length > 0) forgetHead(state.conversation);
      else if (!isLost(failure) || lost > MAX_LOST) return alone(failure.message);
    }
  }
}

function schedule(run: Run, targetTokens: number): Promise<CompactOutput> {
  const { spec, state } = run;
  return proxyActivities<{ compactConversation(input: CompactInput): Promise<CompactOutput> }>({
    startToCloseTimeout: spec.model.timeoutMs + GRACE_MS,
    heartbeatTimeout: spec.heartbeatTimeoutMs,
    retry: { maximumAttempts: MAX_SUMMARY_ATTEMPTS, initialInterval: 1000, maximumInterval: 30_000 },
    summary: `turn ${state.turns + 1} · compaction`,
  }).compactConversation({
    spec: spec.hash,
    ...sendable(state.conversation),
    lap: state.lap,
    turn: state.turns + 1,
    model: summaryModel(run),
    targetTokens,
  });
}

function summaryModel(run: Run): string {
  return run.spec.context.compactModel ?? run.model;
}
