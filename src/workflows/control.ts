/**
 * What `pause`, `resume` and `setLimits` do, and what they answer. What they wait for goes on in a cancelled run too, so
 * that whoever asked is told how it ended.
 */
import { CancellationScope, condition } from '@temporalio/workflow';
import { unpricedModel } from '../agents/cost.js';
import type { Limits } from '../agents/limits.js';
import type { Refused } from './arguments.js';
import { limitsLeft } from './limits.js';
import type { LimitsAnswer, StandingAnswer } from './messages.js';
import { statusOf } from './presentation.js';
import type { Run } from './run.js';

/** Answers at the safe point; sooner where the pause is taken back, or the run ends. */
export async function pause(run: Run): Promise<StandingAnswer> {
  run.state.paused = true;
  await until(run, () => run.phase === 'paused' || !run.state.paused);
  return standing(run);
}

/** Answers when the run goes on; sooner where it is to pause again at once. */
export async function resume(run: Run): Promise<StandingAnswer> {
  run.state.paused = false;
  await until(run, () => run.phase !== 'paused' || run.state.paused);
  return standing(run);
}

/**
 * Changes the limits at once. Before the spec is there nobody knows the agent's own limits, nor what can be priced, so
 * the answer waits for it; `begin` takes out what cannot be kept.
 */
export async function changeLimits(run: Run, limits: Limits): Promise<LimitsAnswer | Refused> {
  const refused = unkeepable(run, limits);
  if (refused !== undefined) return refused;
  run.state.limits = { ...run.state.limits, ...limits };
  if (run.specIfKnown === null) await until(run, () => run.specIfKnown !== null);
  return unkeepable(run, limits) ?? limitsLeft(run.budget, Date.now());
}

/** A limit in dollars that nobody could keep. */
export function unkeepable({ specIfKnown: spec, state }: Run, limits: Limits): Refused | undefined {
  if (limits.usd === undefined || spec === null) return undefined;
  const unpriced = unpricedModel(spec);
  if (unpriced === undefined && state.costUsd !== null) return undefined;
  return {
    refused:
      unpriced === undefined
        ? 'usd cannot be kept: it is not known what the run has cost so far. Limit tokens instead.'
        : `usd cannot be kept: the price of ${unpriced} is not known. Give it in the config (prices), or limit tokens instead.`,
  };
}

/** Takes it out, and says so: better none than one that is kept by nobody. */
export function dropUnkeepable(run: Run): void {
  const problem = unkeepable(run, run.state.limits);
  if (problem === undefined) return;
  const { usd: _, ...limits } = run.state.limits;
  run.state.limits = limits;
  run.note(`A limit was left out: ${problem.refused}`);
}

export function standing(run: Run): StandingAnswer {
  const phase = run.ending === null ? run.phase : 'ended';
  return { status: statusOf(run), phase, lap: run.state.lap, turn: run.state.turns };
}

async function until(run: Run, happened: () => boolean): Promise<void> {
  await CancellationScope.nonCancellable(() => condition(() => happened() || run.ending !== null));
}
