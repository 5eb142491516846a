/**
 * What a run has used up so far, counted from its history: for the result of one that was ended from outside
 * (terminated, timed out) and had no chance to say anything. Needs no worker, unlike the run's `state` query. Pure.
 */
import type { AgentResult } from '../agents/result.js';
import type { PriceSpec } from '../agents/spec.js';
import type { Usage } from '../conversation/message.js';
import { addCost, addUsage } from '../workflows/limits.js';
import { outsideEnd } from './outside-end.js';

type Prices = Readonly<Record<string, PriceSpec>>;
export type Figures = Pick<AgentResult, 'turns' | 'toolCalls' | 'usage' | 'costUsd'>;

export class Tally {
  private figures: Figures = { turns: 0, toolCalls: 0, usage: { input: 0, output: 0 }, costUsd: 0 };
  private prices: Prices = {};
  /** Of runs before, where a workflow has several. */
  private before = { turns: 0, laps: 0 };

  /** What earlier executions of the run have used. */
  carry({ turns, toolCalls, usage, costUsd }: Figures): void {
    this.figures = { turns, toolCalls, usage, costUsd };
  }

  pin(prices: Prices): void {
    this.prices = prices;
  }

  use(model: string, usage: Usage): void {
    this.figures = {
      ...this.figures,
      usage: addUsage(this.figures.usage, usage),
      costUsd: addCost(this.figures.costUsd, usage, this.prices[model]),
    };
  }

  turn(turn: number): void {
    this.figures = { ...this.figures, turns: Math.max(this.figures.turns, this.before.turns + turn) };
  }

  /** Another run begins, which counts its own turns and laps from 1. */
  nextRun(laps: number): void {
    this.before = { turns: this.figures.turns, laps: this.before.laps + laps };
  }

  toolCall(): void {
    this.figures = { ...this.figures, toolCalls: this.figures.toolCalls + 1 };
  }

  /** A workflow that ran agents has made something of its own of what they said. */
  endedWithOwnResult(laps: number): AgentResult {
    return { status: 'completed', reason: 'answered', ...this.so(laps) };
  }

  endedFromOutside(status: 'failed' | 'cancelled', laps: number, message: string): AgentResult {
    return {
      ...(status === 'cancelled' ? { status, reason: 'cancelled' } : { status, reason: 'internal' }),
      ...this.so(laps),
      error: outsideEnd(message),
    };
  }

  private so(laps: number): Figures & Pick<AgentResult, 'output' | 'laps' | 'unconsumedSteering'> {
    return { output: null, ...this.figures, laps: this.before.laps + laps, unconsumedSteering: [] };
  }
}
