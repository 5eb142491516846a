/** What a child run may spend of its parent's budget, and what its end does to it. Pure. */
import type { Ending } from '../agents/result.js';
import { addUsage, tokensOf } from './limits.js';
import type { RunState } from './run-state.js';

/** Tokens, and US dollars; what is absent does not limit. */
export interface Budget {
  readonly tokens?: number;
  readonly usd?: number;
}

type Used = Pick<RunState, 'usage' | 'costUsd' | 'limits'>;

/**
 * The share of a call of an agent in what is left: as much as that of each of the `calls` of the same answer that have not
 * begun yet (itself included), and of the parent, which has to go on with their results. What is reserved for children that
 * are open is not left. The parent's ending where its budget has nothing to give.
 */
export function carve(parent: Used, reserved: readonly Budget[], calls: number, own: Budget): Budget | Ending {
  const shares = Math.max(1, calls) + 1;
  const { limits } = parent;
  const left = (field: keyof Budget, used: number): number =>
    ((limits[field] ?? Infinity) - used - reserved.reduce((sum, budget) => sum + (budget[field] ?? 0), 0)) / shares;
  const tokens = Math.min(own.tokens ?? Infinity, Math.floor(left('tokens', tokensOf(parent.usage))));
  const usd = Math.min(own.usd ?? Infinity, left('usd', parent.costUsd ?? 0));
  if (tokens < 1) return { status: 'exhausted', reason: 'max_tokens' };
  if (usd <= 0) return { status: 'exhausted', reason: 'max_cost' };
  return { ...(tokens < Infinity && { tokens }), ...(usd < Infinity && { usd }) };
}

export type Spent = Pick<RunState, 'usage' | 'costUsd'>;

/**
 * Parent and child together. Where nobody knows what the child has spent (`null`: it was terminated), it counts as all
 * that it was allowed to, so that no limit is passed unseen; where it had no limit, the cost is not known any more.
 */
export function withChild(parent: Spent, child: Spent | null, { tokens, usd }: Budget): Spent {
  const spent: Spent = child ?? {
    usage: { input: tokens ?? 0, output: 0, estimated: true },
    costUsd: usd ?? null,
  };
  return {
    usage: addUsage(parent.usage, spent.usage),
    costUsd: parent.costUsd === null || spent.costUsd === null ? null : parent.costUsd + spent.costUsd,
  };
}
