/**
 * When a conversation is compacted. What is cut, and what stays, is decided in `conversation/compaction.ts`; the summary
 * is written by the activity `compactConversation`.
 */
import { isCancellation, proxyActivities } from '@temporalio/workflow';
import type { CompactInput, CompactOutput } from '../agents/wire.js';
import { applyCompaction, planCompaction } from '../conversation/compaction.js';
import { readFailure } from './activity-failures.js';
import { estimatedInput } from './call-model.js';
import { addCost, addUsage } from './limits.js';
import type { Run } from './run.js';
import { newConversation } from './run-state.js';

/** A provider that still says "too long" after this many is not helped by another. */
export const MAX_COMPACTIONS_IN_A_ROW = 2;
/** Share of the window that a compacted conversation may have; smaller after each overflow, as the estimate was wrong. */
const TARGET_SHARE = { estimate: 0.5, overflow: 0.4, payload: 0.4 } as const;
/** Tokens that a compacted conversation may have where payloads are the limit: about 1 MB of JSON. */
const PAYLOAD_TOKENS = 250_000;
const COMPACT_ATTEMPTS = 5;
/** Beyond `model.timeout`, for the worker to end the stream itself and say so. */
const GRACE_MS = 10_000;

/** Why: the estimate says so, the provider said so, or the state would not fit the payload of continue-as-new. */
export type CompactionCause = keyof typeof TARGET_SHARE;

export async function compactIfLong(run: Run): Promise<void> {
  const { window, compactAt } = run.spec.context;
  if (estimatedInput(run) <= window * compactAt) return;
  // One message alone may be over the mark; compacting it again would change nothing.
  if (run.state.compactionsInARow === 0) await compact(run, 'estimate');
}

/** Replaces the older part of the conversation by a summary. Without one, turns are dropped, and that is said. */
export async function compact(run: Run, cause: CompactionCause): Promise<void> {
  const { phase, state } = run;
  run.enter('compacting');
  state.compactionsInARow += 1;
  state.compactions += 1;
  const targetTokens = Math.min(
    PAYLOAD_TOKENS,
    Math.floor(run.spec.context.window * TARGET_SHARE[cause] ** state.compactionsInARow),
  );
  const { plan, head, usage, problem } = await summarised(run, targetTokens);
  if (usage !== undefined) {
    state.usage = addUsage(state.usage, usage);
    state.costUsd = addCost(state.costUsd, usage, run.spec.prices[compactModel(run)]);
  }
  const messages = applyCompaction(state.conversation.messages, plan);
  state.conversation = newConversation(messages);
  if (head !== undefined) state.conversation.head = { hash: head, length: messages.length };
  if (problem !== undefined) run.note(problem);
  run.enter(phase);
}

async function summarised(run: Run, targetTokens: number): Promise<CompactOutput> {
  const { messages } = run.state.conversation;
  try {
    return await run.within(() => schedule(run, targetTokens));
  } catch (error) {
    const failure = isCancellation(error) ? null : readFailure(error);
    if (failure === null) throw error;
    return {
      plan: planCompaction(messages, { keepTurns: run.spec.context.keepTurns, targetTokens }),
      problem: `The conversation was shortened without a summary: ${failure.message}`,
    };
  }
}

function schedule(run: Run, targetTokens: number): Promise<CompactOutput> {
  const { spec, state } = run;
  const { head, messages } = state.conversation;
  return proxyActivities<{ compactConversation(input: CompactInput): Promise<CompactOutput> }>({
    startToCloseTimeout: spec.model.timeoutMs + GRACE_MS,
    heartbeatTimeout: spec.heartbeatTimeoutMs,
    retry: { maximumAttempts: COMPACT_ATTEMPTS },
    summary: `turn ${state.turns + 1} · compaction`,
  }).compactConversation({
    spec: spec.hash,
    lap: state.lap,
    turn: state.turns + 1,
    base: head,
    delta: messages.slice(head.length),
    model: compactModel(run),
    targetTokens,
  });
}

function compactModel(run: Run): string {
  return run.spec.context.compactModel ?? run.model;
}
