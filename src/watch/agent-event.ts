/**
 * What happens in a run, as those who watch it see it. Plain data, safe to send on as JSON; knows nothing of Temporal's
 * history, from which it is made. New types and fields may come: ignore what is unknown.
 */
import type { Limits } from '../agents/limits.js';
import type { Mode } from '../agents/mode.js';
import type { AgentResult } from '../agents/result.js';
import type { JsonObject } from '../conversation/json.js';
import type { Usage } from '../conversation/message.js';

export interface EventPlace {
  /** `<execution run id>:<history event id>:<n>`, the same whoever reads it and whenever; `after` takes it. */
  readonly id: string;
  /** ISO 8601, of the history event. */
  readonly time: string;
  /** From 1. Of one run, where a workflow has several. */
  readonly lap: number;
  /** Over all laps; 0 before the first. */
  readonly turn: number;
}

export type AgentEvent = EventPlace & EventBody;

/** The door by which a person's message came in. */
export type Via = 'signal' | 'update';

export type EventBody =
  /** null where the workflow is a team's own that calls `runAgent`. */
  | { readonly type: 'run_started'; readonly agent: string | null; readonly task: string | null }
  /** Lap and turn begin at 1 again where a team's own workflow runs another agent. */
  | { readonly type: 'lap_started' }
  /** `toolsOff`: the last words of a run that is at its limit; they count as no turn. */
  | { readonly type: 'turn_started'; readonly model: string; readonly activityId: string; readonly toolsOff?: true }
  | ModelRetrying
  | ModelAnswered
  | ModelFailed
  /** Local-activity tools are seen only when they have ended; `activityId` is as in the Temporal UI. */
  | {
      readonly type: 'tool_started';
      readonly callId: string;
      readonly name: string;
      readonly args: JsonObject;
      readonly activityId?: string;
      /** The run that the call is, where the tool is an agent. */
      readonly runId?: string;
    }
  | ToolFinished
  | {
      readonly type: 'steering_received' | 'follow_up_received';
      readonly text: string;
      readonly textId?: string;
      readonly via: Via;
    }
  /** As it stands in the conversation: waiting steering enters as one message, each text after `[STEERING] `. */
  | { readonly type: 'steering_taken' | 'follow_up_taken'; readonly text: string }
  /** Everlap's own words to the model: a warning, a re-ask. */
  | { readonly type: 'notice'; readonly text: string }
  | { readonly type: 'pause_requested' | 'resume_requested'; readonly via: Via }
  /**
   * Known from the search attributes, or from the answer of a pause or resume update: in a namespace without the
   * attributes, a pause by signal is seen as requested only, and waiting and idling not at all. `idle`: a session waits for
   * the next message.
   */
  | { readonly type: 'paused' | 'resumed' | 'idle' }
  | Waiting
  | { readonly type: 'force_finish_requested'; readonly reason?: string; readonly output?: string; readonly via: Via }
  | { readonly type: 'limits_changed'; readonly limits: Limits; readonly via: Via }
  | {
      readonly type: 'decision_received';
      readonly decision: 'approve' | 'deny' | 'answer';
      readonly callId: string;
      readonly via: Via;
    }
  | { readonly type: 'mode_changed'; readonly mode: Mode; readonly via: Via }
  | { readonly type: 'cancel_requested'; readonly reason?: string }
  /**
   * A signal whose argument made no sense, or an update that the run has refused after all (what it said stands before, as an
   * event of its own): the run goes on as if it had not come.
   */
  | { readonly type: 'message_ignored'; readonly name: string; readonly problem: string }
  | { readonly type: 'compaction_started'; readonly activityId: string }
  /** `problem`: a sentence, where there is no summary. */
  | { readonly type: 'compaction_done'; readonly summary?: string; readonly problem?: string }
  /** The command that decides whether a lap was the last one. `exitCode` is null where it could not be run. */
  | { readonly type: 'verify_started'; readonly command: string; readonly activityId: string }
  | { readonly type: 'verify_finished'; readonly exitCode: number | null; readonly output: string }
  | ContinuedAsNew
  /**
   * Always the last one. The same as `RunHandle.result()` gives. `ownResult`: a team's own workflow that calls `runAgent` has
   * completed with a result of its own, which `RunHandle.temporal.result()` gives; `result` has what its agents have used,
   * and no output.
   */
  | { readonly type: 'ended'; readonly result: AgentResult; readonly ownResult?: true };

/** Nothing goes on before a person has decided. `resumed` follows. */
export interface Waiting {
  readonly type: 'waiting';
  /** Calls that may need an approval or an answer; which of them do, `RunHandle.state()` says. */
  readonly calls: readonly { readonly callId: string; readonly name: string; readonly arguments: string }[];
}

/** The model is asked once more within the same turn, by a new activity. */
export interface ModelRetrying {
  readonly type: 'model_retrying';
  readonly model: string;
  readonly activityId: string;
  /** `answer_cut`: it goes on with a text that the output limit cut off. */
  readonly cause: 'failure' | 'empty_answer' | 'answer_cut';
}

/** Parts of a text that was cut off by the output limit come as one event each, all but the last with `cut`. */
export interface ModelAnswered {
  readonly type: 'model_answered';
  readonly model: string;
  /** Whole; '' where there is none. */
  readonly text: string;
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly reasoning?: string;
  readonly usage: Usage;
  readonly cut?: true;
  /** Present from 2 on: the answering attempt of this activity. */
  readonly attempts?: number;
}

/** All attempts of one activity failed. The run may go on: with another model, a shorter conversation, a new try. */
export interface ModelFailed {
  readonly type: 'model_failed';
  readonly model: string;
  /** The failure class (`auth`, `overflow`, …), `lost` or `timeout`. */
  readonly reason: string;
  readonly error: string;
  readonly attempts?: number;
}

/** A call that was refused, or never run, has no `tool_started` before it. */
export interface ToolFinished {
  readonly type: 'tool_finished';
  readonly callId: string;
  readonly name: string;
  /** What the model sees. */
  readonly text: string;
  readonly isError?: true;
  readonly attempts?: number;
}

/** The run goes on in another execution. After a `reset` it is told again from its start, as its history is. */
export interface ContinuedAsNew {
  readonly type: 'continued_as_new';
  readonly newRunId: string;
  readonly cause: 'continued' | 'retry' | 'cron' | 'reset';
}

/** What only those see who watch while it happens. Not in history: no ids, nothing to resume from. */
export type LiveEvent = AgentEvent | Tokens | Thinking | AttemptFailed;

/** New text of the answer that is being made. */
export interface Tokens {
  readonly type: 'tokens';
  readonly lap: number;
  readonly turn: number;
  readonly attempt: number;
  readonly text: string;
  /** Characters before `text` that were not seen: the watcher came late. */
  readonly skipped?: number;
  /** A new attempt: the text shown of this answer so far is void. */
  readonly restarted?: true;
}

/** The model thinks and has not written yet. */
export interface Thinking {
  readonly type: 'thinking';
  readonly lap: number;
  readonly turn: number;
  readonly attempt: number;
  /** Of reasoning so far. */
  readonly characters: number;
}

/** One attempt of the model call failed; Temporal makes another. */
export interface AttemptFailed {
  readonly type: 'attempt_failed';
  readonly lap: number;
  readonly turn: number;
  readonly attempt: number;
  readonly error: string;
  /** ISO 8601. Absent where the next attempt has begun already. */
  readonly retryAt?: string;
}
