/** How a run ends (the contract's table of statuses and reasons). Plain data. */
import type { Usage } from '../conversation/message.js';

export type Ending =
  | {
      readonly status: 'completed';
      readonly reason: 'answered' | 'tool_ended' | 'goal_met' | 'promise_kept' | 'verified';
    }
  | {
      readonly status: 'exhausted';
      readonly reason: 'max_turns' | 'max_tokens' | 'max_cost' | 'max_tool_calls' | 'deadline' | 'max_laps';
    }
  | { readonly status: 'stopped'; readonly reason: 'force_finished' | 'stuck' | 'goal_impossible' }
  | { readonly status: 'failed'; readonly reason: FailedReason }
  | { readonly status: 'cancelled'; readonly reason: 'cancelled' };

export type FailedReason =
  | 'auth'
  | 'quota'
  | 'bad_request'
  | 'content_filter'
  | 'context_overflow'
  | 'empty_answer'
  | 'invalid_output'
  | 'stalled'
  | 'model_unavailable'
  | 'evaluator_error'
  | 'internal'
  | 'unknown_agent';
export const STATUSES = [
  'completed',
  'exhausted',
  'stopped',
  'failed',
  'cancelled',
] as const satisfies readonly Ending['status'][];
export type Status = Ending['status'];
export type Reason = Ending['reason'];

export interface AgentResult {
  readonly status: Status;
  readonly reason: Reason;
  /** The answer, JSON where the agent has an `output`; null where there is none (an exhausted run never makes one up). */
  readonly output: string | null;
  /** Answered model calls, over all laps. */
  readonly turns: number;
  readonly laps: number;
  /** Tool calls that were run. */
  readonly toolCalls: number;
  readonly usage: Usage;
  /** US dollars; null where a model's price is not known. */
  readonly costUsd: number | null;
  /** Steering and follow-ups that were accepted but came too late for any model call. */
  readonly unconsumedSteering: readonly UnconsumedText[];
  /** A sentence: what went wrong. */
  readonly error?: string;
  /** Why the run was told to finish, where `forceFinish` has said so; cut where that is long. */
  readonly forceFinishReason?: string;
}

export interface UnconsumedText {
  readonly kind: 'steer' | 'followUp';
  readonly text: string;
  readonly id?: string;
}
