/** Temporal's history events as far as a watcher needs them, decoded: what `decode-history.ts` makes and `history-events.ts` reads. */
import type { FailedActivity } from '../workflows/activity-failures.js';

export type HistoryEvent = HistoryPlace & HistoryContent;

export interface HistoryPlace {
  readonly eventId: number;
  /** ISO 8601. */
  readonly time: string;
}

/** Why an execution has a successor. */
export interface Successor {
  readonly newRunId: string;
  readonly cause: 'continued' | 'retry' | 'cron' | 'reset';
}

export type HistoryContent =
  | { readonly kind: 'execution_started'; readonly workflowType: string; readonly input: unknown }
  | {
      readonly kind: 'activity_scheduled';
      readonly activity: string;
      readonly activityId: string;
      readonly input: unknown;
    }
  | { readonly kind: 'activity_started'; readonly scheduledId: number; readonly attempt: number }
  | { readonly kind: 'activity_completed'; readonly scheduledId: number; readonly result: unknown }
  /** Failed or timed out, for good. */
  | { readonly kind: 'activity_failed'; readonly scheduledId: number; readonly failure: FailedActivity }
  /** `seq`: in the order in which the workflow scheduled them. */
  | { readonly kind: 'local_activity'; readonly activity: string; readonly seq: number; readonly result: unknown }
  | {
      readonly kind: 'local_activity_failed';
      readonly activity: string;
      readonly seq: number;
      readonly failure: FailedActivity;
    }
  /** An agent that was called as a tool: a run of its own. */
  | { readonly kind: 'child_started'; readonly runId: string; readonly input: unknown }
  /** `result`: what it returned, or what its failure carries; undefined where it left none. */
  | { readonly kind: 'child_closed'; readonly startedId: number; readonly result: unknown }
  | { readonly kind: 'message'; readonly name: string; readonly argument: unknown; readonly via: 'signal' | 'update' }
  | { readonly kind: 'update_completed'; readonly acceptedId: number; readonly answer: unknown }
  /** The run had accepted it, and found out then that it cannot do as it says. */
  | { readonly kind: 'update_refused'; readonly acceptedId: number; readonly problem: string }
  | { readonly kind: 'memo'; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly kind: 'search_attributes'; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly kind: 'cancel_requested'; readonly reason: string }
  | { readonly kind: 'continued'; readonly successor: Successor; readonly input: unknown }
  | { readonly kind: 'closed'; readonly how: Closed };

/** How an execution ended that has no successor. */
export type Closed =
  | { readonly status: 'completed'; readonly result: unknown }
  | { readonly status: 'failed'; readonly error: Error }
  | { readonly status: 'cancelled' }
  | { readonly status: 'terminated' | 'timed_out'; readonly message: string };
