/**
 * The state of a run: one serialisable value. Whatever a run must remember over continue-as-new is in here and nowhere
 * else. Only plain data; what it means is decided in the modules beside it.
 */
import type { Mode } from '../agents/mode.js';
import type { AgentSpec } from '../agents/spec.js';
import type { Limits } from '../agents/limits.js';
import type { Reason } from '../agents/result.js';
import type { Head, Message, Usage } from '../conversation/message.js';
import type { ApprovalRule, PendingCall } from './decisions.js';
import { EMPTY_HEAD } from '../conversation/message.js';

/** Why the loop went round again; shown in `state`. */
export type Transition =
  | 'started'
  | 'tool_results'
  | 'steering'
  | 'follow_up'
  | 'empty_answer'
  | 'wrong_output'
  | 'answer_cut'
  | 'overflow'
  | 'stuck_warning'
  | 'handoff'
  | 'next_lap'
  | 'continued_as_new';

/** What the run is doing right now. */
export type Phase = 'starting' | 'idle' | 'model' | 'tools' | 'compacting' | 'paused' | 'verifying' | 'ended';

export interface QueuedText {
  readonly text: string;
  readonly id?: string;
}

export interface Conversation {
  messages: Message[];
  /** Up to where workers know it under a hash; what lies behind is the next call's delta. */
  head: Head;
  /** Tokens of instructions, tools and messages up to `head`, as the provider counted them; null before it did. */
  headTokens: number | null;
  /** Tokens, by estimate, right after the last compaction; null before the first. */
  compactedTo: number | null;
}

/** Characters of a reason in results: people's own words may be long, and a result is one payload. */
export const MAX_FINISH_REASON = 2000;

export interface ForceFinish {
  readonly reason?: string;
  readonly output?: string;
}

/**
 * The words of a person that the run answers now: the task, or a follow-up. With what the run had used when it took
 * them, from which on a session's limits for one message count.
 */
export interface OpenMessage {
  readonly id: string | null;
  readonly startedAt: number;
  readonly turns: number;
  readonly toolCalls: number;
  readonly tokens: number;
  readonly usd: number;
}

/** How a message with an id was answered. */
export interface GivenAnswer {
  readonly id: string;
  /** Over the whole run: the one that answered. */
  readonly turn: number;
  readonly reason: Reason;
  /** null: none was made. */
  readonly answer: string | null;
  /** Its answer was long, and is in the conversation only. */
  readonly forgotten?: true;
}

export interface RunState {
  /** Who has the conversation, once it was handed over; null: the agent that the run was started with. */
  agent: string | null;
  lap: number;
  /** Answered model calls, over all laps. */
  turns: number;
  /** Calls that were run, over all laps. */
  toolCalls: number;
  usage: Usage;
  /** null from the first answer on whose price is not known. */
  costUsd: number | null;
  startedAt: number;
  limits: Limits;
  transition: Transition;
  conversation: Conversation;
  /** null between two messages: the run is idle, takes the next one, or ends. */
  message: OpenMessage | null;
  /** Since when a session waits for the next message; null while it does not. */
  idleSince: number | null;
  /** The newest messages with an id that were answered, oldest first, bounded; see `answers.ts`. */
  answers: readonly GivenAnswer[];
  steering: QueuedText[];
  followUps: QueuedText[];
  /** Bytes of both queues as JSON. */
  waitingBytes: number;
  /** The newest updates that were answered, oldest first, bounded; see `both-doors.ts`. */
  answeredUpdates: { readonly key: string; readonly answer: unknown }[];
  /** Ids of steering and follow-ups that were taken already, oldest first, bounded. */
  seenIds: string[];
  paused: boolean;
  forceFinish: ForceFinish | null;
  /** As set while running; null: as the spec says. */
  mode: Mode | null;
  /** Calls that wait for a person. Never carried over: a run continues as new between turns only. */
  pending: PendingCall[];
  /** Ids of calls that were decided or closed, bounded. */
  closedCalls: string[];
  approvalRules: ApprovalRule[];
  /** 0 for the agent's own model, n for the n-th fallback. */
  modelIndex: number;
  /** The model's last text on the open message: the output of a force-finished run. */
  lastText: string | null;
  /** The answer to the newest message before it that got one. */
  lastAnswer: string | null;
  /** Signatures of the newest tool turns, and whether the model was warned. */
  stuck: { signatures: string[]; warned: boolean };
  /** 1 once a turn beyond the limit was granted, for steering that came while the last allowed answer was made. */
  graceTurns: 0 | 1;
  /** Over all laps. */
  compactions: number;
  /** Times that a provider said "too long" since the last answered call. */
  overflowsInARow: number;
  /** Tokens, by estimate, of which the current model said last that they are too many; null while it did not. */
  overflowedAt: number | null;
  failedLaps: number;
  /** Answers in a row that did not have the form of the agent's output. */
  wrongOutputs: number;
  /** The note of `hand_off` for the next lap. */
  handoff: string | null;
  /** What went wrong last, as a sentence; the run may have gone on since. */
  lastError: string | null;
}

/** What continue-as-new hands on. */
export interface CarriedRun {
  readonly state: RunState;
  /** Absent where the next lap is to take the agent's newest one. */
  readonly spec?: AgentSpec;
}

export function newRunState(task: string, now: number): RunState {
  return {
    agent: null,
    lap: 1,
    turns: 0,
    toolCalls: 0,
    usage: { input: 0, output: 0 },
    costUsd: 0,
    startedAt: now,
    limits: {},
    transition: 'started',
    ...opening(task, now),
    idleSince: null,
    answers: [],
    steering: [],
    followUps: [],
    waitingBytes: 0,
    seenIds: [],
    answeredUpdates: [],
    paused: false,
    forceFinish: null,
    mode: null,
    pending: [],
    closedCalls: [],
    approvalRules: [],
    modelIndex: 0,
    lastText: null,
    lastAnswer: null,
    stuck: { signatures: [], warned: false },
    graceTurns: 0,
    compactions: 0,
    overflowsInARow: 0,
    overflowedAt: null,
    failedLaps: 0,
    wrongOutputs: 0,
    handoff: null,
    lastError: null,
  };
}

/** Without a task, the first message is waited for. */
function opening(task: string, now: number): Pick<RunState, 'message' | 'conversation'> {
  if (task.trim() === '') return { message: null, conversation: newConversation([]) };
  return {
    message: { id: null, startedAt: now, turns: 0, toolCalls: 0, tokens: 0, usd: 0 },
    conversation: newConversation([{ role: 'user', kind: 'task', text: task }]),
  };
}

/** A conversation that no worker knows yet. */
export function newConversation(messages: readonly Message[]): Conversation {
  return { messages: [...messages], head: EMPTY_HEAD, headTokens: null, compactedTo: null };
}
