/**
 * The activity `compactConversation`: plans what goes, and asks a model for the summary that takes its place. It never
 * fails for want of a summary: then turns go without one, and `problem` says why. The run applies the plan itself.
 */
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { MAX_SUMMARY_ATTEMPTS, WORKER_SHUTDOWN, type CompactInput, type CompactOutput } from '../agents/wire.js';
import type { AgentSpec } from '../agents/spec.js';
import {
  applyCompaction,
  cutToTokens,
  planCompaction,
  summaryTokens,
  withoutSummary,
  type CompactionAim,
} from '../conversation/compaction.js';
import { cut } from '../conversation/cut-text.js';
import type { Message, Usage } from '../conversation/message.js';
import { contextWindowOf } from '../models/context-window.js';
import { estimateTokens } from '../conversation/estimate.js';
import { cutToJsonBytes } from '../conversation/json-bytes.js';
import { ModelFailure } from '../models/provider.js';
import { askProvider, isModelFailure, toFailure, type ModelDependencies } from './ask-provider.js';
import { extendHash } from './conversation-hash.js';
import { startHeartbeat } from './heartbeat.js';
import { loadRun } from './load-run.js';
import { SUMMARY_INSTRUCTIONS, summaryRequest } from './summary-request.js';

/** Share of the summariser's window that the record may take. The rest is for the answer, and for estimates that are wrong. */
const RECORD_SHARE = 0.6;
/** Times that a record which the summariser finds too long is halved. */
const MAX_HALVINGS = 4;
/** A bound for any estimate that is wrong: of a payload, and of everything that is sent from then on. */
const MAX_SUMMARY_BYTES = 100_000;
/** What the summariser is told, who cannot count tokens. */
const WORDS_PER_TOKEN = 0.5;
const MIN_WORDS = 30;

export async function compactConversation(
  dependencies: ModelDependencies,
  input: CompactInput,
): Promise<CompactOutput> {
  const { attempt } = Context.current().info;
  const heartbeat = startHeartbeat({ turn: input.turn, attempt });
  try {
    const { spec, messages } = await loadRun(dependencies.cache, input);
    const aim: CompactionAim = { keepTurns: spec.context.keepTurns, targetTokens: input.targetTokens };
    const plan = planCompaction(messages, aim);
    const older = messages.slice(0, plan.cutAt);
    let output: CompactOutput = { plan };
    if (older.length > 0) {
      try {
        const { summary, usage } = await summarise(dependencies, { spec, model: input.model, older, aim });
        output = { plan: { ...plan, summary }, usage };
      } catch (error) {
        output = { plan: withoutSummary(messages, plan, aim), problem: orRetry(error, dependencies, attempt) };
      }
    }
    const compacted = applyCompaction(messages, output.plan);
    const head = extendHash('', compacted);
    dependencies.cache.keepConversation(head, compacted, input.base.hash);
    return { ...output, head };
  } finally {
    heartbeat.stop();
  }
}

/** Why there will be no summary. @throws what Temporal should try again, or must be told: a cancellation. */
function orRetry(error: unknown, dependencies: ModelDependencies, attempt: number): string {
  const failure = toFailure(error, dependencies);
  if (!(failure instanceof ApplicationFailure) || failure.type === WORKER_SHUTDOWN) throw failure;
  if (failure.nonRetryable !== true && attempt < MAX_SUMMARY_ATTEMPTS) throw failure;
  return cut(failure.message, 2000);
}

interface Summarising {
  readonly spec: AgentSpec;
  readonly model: string;
  readonly older: readonly Message[];
  readonly aim: CompactionAim;
}

async function summarise(
  dependencies: ModelDependencies,
  { spec, model, older, aim }: Summarising,
): Promise<{ summary: string; usage: Usage }> {
  const window = model === spec.model.name ? spec.context.window : contextWindowOf(model);
  const room = summaryTokens(aim.targetTokens);
  const words = Math.max(MIN_WORDS, Math.floor(room * WORDS_PER_TOKEN));
  let recordTokens = Math.floor(window * RECORD_SHARE);
  for (let halvings = 0; ; halvings += 1) {
    const text = summaryRequest(older, recordTokens, words);
    const input = estimateTokens(SUMMARY_INSTRUCTIONS) + estimateTokens(text);
    try {
      const { message, usage } = await askProvider(dependencies, spec.model, {
        model,
        instructions: SUMMARY_INSTRUCTIONS,
        messages: [{ role: 'user', kind: 'task', text }],
        tools: [],
        toolChoice: 'none',
        ...(spec.model.maxOutputTokens !== undefined && { maxOutputTokens: spec.model.maxOutputTokens }),
      });
      const summary = cutToJsonBytes(cutToTokens(message.text.trim(), room), MAX_SUMMARY_BYTES);
      if (summary === '') throw new ModelFailure('transient', `${model} answered nothing when asked for a summary.`);
      return { summary, usage: usage ?? { input, output: estimateTokens(summary), estimated: true } };
    } catch (error) {
      const isOverflow = isModelFailure(error) && error.failureClass === 'overflow';
      if (!isOverflow || halvings === MAX_HALVINGS) throw error;
      recordTokens = Math.floor(Math.min(recordTokens, input) / 2);
    }
  }
}
