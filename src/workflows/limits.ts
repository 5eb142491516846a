/** Which limit a run has reached, and what is left. Pure. */
import { costUsd, ratesFor } from '../agents/cost.js';
import type { Limits } from '../agents/limits.js';
import type { Ending } from '../agents/result.js';
import type { PriceSpec } from '../agents/spec.js';
import type { Usage } from '../conversation/message.js';
import type { RunState } from './run-state.js';

/** What a run has used, and what it may. */
export type Used = Pick<RunState, 'turns' | 'graceTurns' | 'toolCalls' | 'usage' | 'costUsd' | 'startedAt' | 'limits'>;

/** The limit that forbids another model call; undefined where none does. The deadline goes first: it ends tools too. */
export function exhaustedLimit(run: Used, isPastDeadline: boolean): Ending | undefined {
  const { limits } = run;
  if (isPastDeadline) return { status: 'exhausted', reason: 'deadline' };
  if (reached(run.turns - run.graceTurns, limits.turns)) return { status: 'exhausted', reason: 'max_turns' };
  if (reached(tokensOf(run.usage), limits.tokens)) return { status: 'exhausted', reason: 'max_tokens' };
  if (reached(run.costUsd ?? 0, limits.usd)) return { status: 'exhausted', reason: 'max_cost' };
  if (reached(run.toolCalls, limits.toolCalls)) return { status: 'exhausted', reason: 'max_tool_calls' };
  return undefined;
}

function reached(used: number, limit: number | undefined): boolean {
  return limit !== undefined && used >= limit;
}

export function deadlineOf(run: Pick<RunState, 'startedAt' | 'limits'>): number | undefined {
  return run.limits.durationMs === undefined ? undefined : run.startedAt + run.limits.durationMs;
}

/**
 * What a call with an estimated input may still answer: a cap on its output tokens (undefined: none), or the limit that
 * its input alone would pass.
 */
export function outputBudget(
  run: Used,
  price: PriceSpec | undefined,
  inputTokens: number,
): { readonly maxOutputTokens?: number } | Ending {
  const caps: number[] = [];
  if (run.limits.tokens !== undefined) {
    const left = run.limits.tokens - tokensOf(run.usage) - inputTokens;
    if (left < 1) return { status: 'exhausted', reason: 'max_tokens' };
    caps.push(left);
  }
  if (run.limits.usd !== undefined && price !== undefined) {
    const left = run.limits.usd - (run.costUsd ?? 0) - costUsd(price, { input: inputTokens, output: 0 });
    const { output } = ratesFor(price, inputTokens);
    const tokens = output === 0 ? Infinity : Math.floor((left * 1e6) / output);
    if (left < 0 || tokens < 1) return { status: 'exhausted', reason: 'max_cost' };
    if (Number.isFinite(tokens)) caps.push(tokens);
  }
  return caps.length === 0 ? {} : { maxOutputTokens: Math.floor(Math.min(...caps)) };
}

export function tokensOf(usage: Usage): number {
  return usage.input + usage.output + (usage.thinking ?? 0);
}

export function addUsage(sum: Usage, more: Usage): Usage {
  const cachedInput = (sum.cachedInput ?? 0) + (more.cachedInput ?? 0);
  const reasoning = (sum.reasoning ?? 0) + (more.reasoning ?? 0);
  const thinking = (sum.thinking ?? 0) + (more.thinking ?? 0);
  return {
    input: sum.input + more.input,
    output: sum.output + more.output,
    ...(cachedInput > 0 && { cachedInput }),
    ...(reasoning > 0 && { reasoning }),
    ...(thinking > 0 && { thinking }),
    ...((sum.estimated || more.estimated) && { estimated: true }),
  };
}

/** Adds the cost of one request, in US dollars; unknown stays unknown. */
export function addCost(sum: number | null, usage: Usage, price: PriceSpec | undefined): number | null {
  return sum === null || price === undefined ? null : sum + costUsd(price, usage);
}

/** For `state` and `setLimits`: each limit in force with what is left of it; milliseconds for the duration. */
export function limitsLeft(run: Used, now: number): Record<string, { limit: number; left: number }> {
  const used: Record<keyof Limits, number> = {
    turns: run.turns - run.graceTurns,
    tokens: tokensOf(run.usage),
    usd: run.costUsd ?? 0,
    durationMs: now - run.startedAt,
    toolCalls: run.toolCalls,
  };
  const view: Record<string, { limit: number; left: number }> = {};
  for (const field of ['turns', 'tokens', 'usd', 'durationMs', 'toolCalls'] as const) {
    const limit = run.limits[field];
    if (limit !== undefined) view[field] = { limit, left: Math.max(0, limit - used[field]) };
  }
  return view;
}
