/**
 * What a conversation is made of. Pure data, the same in the workflow, in activities, on the wire and in queries.
 * Knows no provider: how a message is written for one is decided in `models/`.
 *
 * Instructions (the system prompt) are no message: they belong to the spec and are put first when a request is made.
 */
import type { Json, JsonObject } from './json.js';

export type Message = UserMessage | AssistantMessage | ToolMessage;

/**
 * Who speaks in a `user` message. Compaction keeps the words of people (`task`, `steering`, `follow_up`);
 * `handoff` opens a later lap, `summary` replaces compacted turns, `notice` is Everlap's own (a warning, a re-ask).
 */
export type UserKind = 'task' | 'steering' | 'follow_up' | 'handoff' | 'summary' | 'notice';

export interface UserMessage {
  readonly role: 'user';
  readonly kind: UserKind;
  readonly text: string;
}

export interface AssistantMessage {
  readonly role: 'assistant';
  /** '' where the model wrote none. */
  readonly text: string;
  /** In call order. Absent, never empty, where the model asked for none. */
  readonly toolCalls?: readonly ToolCall[];
  /** Readable thinking, joined; for people. What a provider wants back is in `extra`. */
  readonly reasoning?: string;
  /** Unknown fields of the provider's message (reasoning, signatures), sent back as they came. */
  readonly extra?: JsonObject;
  /** The model that answered, where it is not the agent's first choice. */
  readonly model?: string;
}

export interface ToolCall {
  /** Unique within the conversation: `callModel` sees to it. */
  readonly id: string;
  readonly name: string;
  /** As the model wrote them: usually, not always, a JSON object. '' only where the stream ended properly without any. */
  readonly arguments: string;
  /** Unknown fields of the provider's call (thought signatures), sent back as they came. */
  readonly extra?: JsonObject;
}

export interface ToolMessage {
  readonly role: 'tool';
  readonly callId: string;
  readonly name: string;
  readonly text: string;
  readonly isError?: true;
}

/** Tokens. `cachedInput` is part of `input`, `reasoning` of `output`. */
export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cachedInput?: number;
  readonly reasoning?: number;
  /** Thinking that the provider counts beside `output` (xAI, Gemini), and bills as output: it counts against limits. */
  readonly thinking?: number;
  /** The provider told nothing (or not all): these are Everlap's own estimates. */
  readonly estimated?: true;
}

/** A point in a conversation: the chain hash over its first `length` messages. */
export interface Head {
  readonly hash: string;
  readonly length: number;
}

/** The head of a conversation without messages. */
export const EMPTY_HEAD: Head = { hash: '', length: 0 };

export type { Json, JsonObject };
