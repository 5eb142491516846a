/**
 * The names under which a run is spoken to: signals, updates of the same names, queries, and what they carry.
 * For the workflow, the client, and whoever defines their own. Imports nothing that runs.
 */
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { Mode } from '../agents/mode.js';
import type { AgentSpec } from '../agents/spec.js';
import type { LimitOptions } from '../agents/limits.js';
import type { Reason } from '../agents/result.js';
import type { JsonObject } from '../conversation/json.js';
import type { Head, Message, Usage } from '../conversation/message.js';
import type { ChildReport } from './children.js';
import type { Phase, Transition } from './run-state.js';

/** `steer`, `followUp`: a text, or with an id: the same id twice counts once. */
export type TextArgument = string | { readonly text: string; readonly id?: string };
export interface ForceFinishArgument {
  readonly reason?: string;
  readonly output?: string;
}

/**
 * A call id, or with changed arguments, or with a rule that approves later calls too. `run`, here and below: the run that
 * waits, where several wait under one id (a run and the agents that it has called).
 */
export type ApproveMessage =
  | string
  | {
      readonly callId: string;
      readonly run?: string;
      readonly args?: JsonObject;
      readonly remember?: 'tool' | RememberMessage;
    };
export interface RememberMessage {
  /** Default: the tool of the approved call. */
  readonly tool?: string;
  /** Arguments that must match: equal values, or texts with `*` for anything. */
  readonly args?: JsonObject;
  /** Later calls that it approves; default: any number. */
  readonly uses?: number;
  /** A duration; default: as long as the run lives. */
  readonly for?: string | number;
}
export type DenyMessage = string | { readonly callId: string; readonly run?: string; readonly reason?: string };
export interface AnswerMessage {
  readonly callId: string;
  readonly run?: string;
  readonly text: string;
}
/** `passed_on`: the call waits in `run`, a run below this one, which has been told. */
export interface DecidedAnswer {
  readonly callId: string;
  readonly state: 'approved' | 'denied' | 'answered' | 'passed_on';
  readonly run?: string;
}

/** Its place in the queue (from 1; 0: this id was taken before). */
export interface QueuedMessage {
  readonly position: number;
}
/** `followUp` in a session: how its message was answered. */
export interface AnsweredMessage extends QueuedMessage {
  /** The message's: as it was given, or the update's. */
  readonly id: string;
  /** The turn that answered, over the whole run. */
  readonly turn: number;
  /** `answered`; a limit of the message (`max_turns`, …); whatever else ended it. */
  readonly reason: Reason;
  /** null where it ended without one. */
  readonly answer: string | null;
}
/** The run goes on in a new execution: send the message again with this id, and the answer follows. `RunHandle` does. */
export interface ContinuedMessage extends QueuedMessage {
  readonly id: string;
  readonly continued: true;
}
export type FollowUpAnswer = QueuedMessage | AnsweredMessage | ContinuedMessage;
/** Its place in the queue, and the turn that it will enter. */
export interface QueuedAnswer extends QueuedMessage {
  readonly turn: number;
}
export interface StandingAnswer {
  readonly status: string;
  readonly phase: Phase;
  readonly lap: number;
  readonly turn: number;
}
/** Milliseconds for `durationMs`. */
export type LimitsAnswer = Readonly<Record<string, { readonly limit: number; readonly left: number }>>;

export const steerSignal = defineSignal<[TextArgument]>('steer');
export const followUpSignal = defineSignal<[TextArgument]>('followUp');
export const forceFinishSignal = defineSignal<[ForceFinishArgument?]>('forceFinish');
export const pauseSignal = defineSignal('pause');
export const resumeSignal = defineSignal('resume');
export const setLimitsSignal = defineSignal<[LimitOptions]>('setLimits');

export const approveSignal = defineSignal<[ApproveMessage]>('approve');
export const denySignal = defineSignal<[DenyMessage]>('deny');
export const answerSignal = defineSignal<[AnswerMessage]>('answer');
export const setModeSignal = defineSignal<[Mode]>('setMode');

/** From a child run to the run that called it. */
export const childReportSignal = defineSignal<[ChildReport]>('childReport');

export const steerUpdate = defineUpdate<QueuedAnswer, [TextArgument]>('steer');
export const followUpUpdate = defineUpdate<FollowUpAnswer, [TextArgument]>('followUp');
export const forceFinishUpdate = defineUpdate<StandingAnswer, [ForceFinishArgument?]>('forceFinish');
export const pauseUpdate = defineUpdate<StandingAnswer>('pause');
export const resumeUpdate = defineUpdate<StandingAnswer>('resume');
export const setLimitsUpdate = defineUpdate<LimitsAnswer, [LimitOptions]>('setLimits');

export const approveUpdate = defineUpdate<DecidedAnswer, [ApproveMessage]>('approve');
export const denyUpdate = defineUpdate<DecidedAnswer, [DenyMessage]>('deny');
export const answerUpdate = defineUpdate<DecidedAnswer, [AnswerMessage]>('answer');
export const setModeUpdate = defineUpdate<{ readonly mode: Mode }, [Mode]>('setMode');

/** Always under 64 KB. */
export interface RunView {
  readonly agent: string;
  readonly task: string;
  readonly status: string;
  readonly reason?: string;
  readonly phase: Phase;
  readonly transition: Transition;
  readonly lap: number;
  readonly turn: number;
  readonly model: string | null;
  readonly limits: LimitsAnswer;
  /** Tool calls that wait for a person's decision, and questions that wait for an answer; here and in runs below. */
  readonly pending: readonly PendingView[];
  readonly pendingCount: number;
  readonly mode: Mode;
  /** Present while a session waits for the next message: until when. Milliseconds since the epoch. */
  readonly idleUntil?: number;
  /** Present once the run was told to finish: why, where somebody has said so. */
  readonly forceFinish?: { readonly reason?: string };
  readonly queues: { readonly steering: number; readonly followUps: number };
  readonly usage: Usage;
  readonly costUsd: number | null;
  readonly toolCalls: number;
  readonly messages: number;
  readonly compactions: number;
  readonly lastError: string | null;
  readonly output?: string | null;
}

export interface PendingView {
  readonly kind: 'approval' | 'question';
  readonly callId: string;
  readonly tool: string;
  /** JSON, cut. */
  readonly args: string;
  /** The run that waits, where it is not this one but one below it. */
  readonly run?: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** Milliseconds since the epoch, where it waits for a time only. */
  readonly expiresAt?: number;
}

export interface MessagesArgument {
  /** Index of the first message. Default 0. */
  readonly from?: number;
  /** Messages at most; a page is under 1 MB whatever it says. */
  readonly limit?: number;
  /** Adds the run's spec to the page; for workers that lost their cache. */
  readonly spec?: boolean;
}

/** Messages of the current lap. `next` is where to go on, null at the end. */
export interface MessagesPage {
  readonly messages: readonly Message[];
  readonly from: number;
  readonly total: number;
  readonly next: number | null;
  readonly lap: number;
  readonly head: Head;
  readonly spec?: AgentSpec;
}

export const stateQuery = defineQuery<RunView>('state');
export const messagesQuery = defineQuery<MessagesPage, [MessagesArgument?]>('messages');
