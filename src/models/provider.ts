/**
 * The interface between `callModel` and whatever answers it: one method, one file per provider.
 * Knows messages, not Temporal: time limits, retries and heartbeats are the caller's.
 */
import type { AssistantMessage, Message, Usage } from '../conversation/message.js';
import type { JsonObject } from '../conversation/json.js';

export interface ModelProvider {
  /** For error messages and `doctor`, e.g. `openai`. */
  readonly name: string;
  /**
   * Asks once, streaming. Never retries by itself.
   * @throws ModelFailure for everything that is not a whole answer; an aborted `signal` rejects with the signal's reason.
   */
  answer(request: ModelRequest): Promise<ModelAnswer>;
}

export interface ModelRequest {
  readonly model: string;
  readonly instructions: string;
  /** Any valid or damaged conversation; the provider normalises it to what its server accepts. */
  readonly messages: readonly Message[];
  readonly tools: readonly ToolSchema[];
  /** 'none' keeps the tools' schemas in the request but forbids calls (where the server knows how, else drops them). */
  readonly toolChoice: 'auto' | 'none';
  /** Cap on output tokens. */
  readonly maxOutputTokens?: number;
  /** Sampling settings and provider-specific parameters, put into the request body as they are. */
  readonly parameters?: JsonObject;
  /**
   * The form of the last answer: a JSON object that fits the schema. Asked for by the server's own means where it has them,
   * else by a tool `final_answer` that the model calls with it (the run answers the call), else in words. Not checked by
   * the provider; answers with other calls need no form.
   */
  readonly output?: OutputSchema;
  readonly signal: AbortSignal;
  /** Called for every parsed event of the stream (comments are none), with the new text if it had any. */
  readonly onEvent: (delta: StreamDelta) => void;
}

export interface StreamDelta {
  readonly text?: string;
  readonly reasoning?: string;
}

export interface ToolSchema {
  readonly name: string;
  readonly description: string;
  /** JSON Schema with an object at its root. */
  readonly parameters: JsonObject;
  readonly strict?: boolean;
}

export interface OutputSchema {
  /** 1 to 64 letters, digits, `_`, `-`. */
  readonly name: string;
  /** JSON Schema with an object at its root. */
  readonly schema: JsonObject;
  /** The schema is one that strict mode takes. */
  readonly strict?: boolean;
}

export interface ModelAnswer {
  readonly message: AssistantMessage;
  /** null: the provider told none. Never 0 for unknown. */
  readonly usage: Usage | null;
  /**
   * `length`: cut off by the output limit. Everything else is `end`; whether the run goes on is decided by
   * the absence of tool calls alone, never by the provider's finish reason.
   */
  readonly finish: 'end' | 'length';
}

/** What a failed model call means for the run (DESIGN section 7). */
export type FailureClass = 'transient' | 'stalled' | 'auth' | 'quota' | 'overflow' | 'content_filter' | 'bad_request';

export class ModelFailure extends Error {
  override readonly name = 'ModelFailure';
  constructor(
    readonly failureClass: FailureClass,
    /** A sentence: what happened, at which model and server; at most 2,000 characters; never a key. */
    message: string,
    readonly details: {
      readonly status?: number;
      /** Milliseconds that the server asked to wait, from `Retry-After` or `retry-after-ms`. */
      readonly retryAfterMs?: number;
    } = {},
  ) {
    super(message);
  }
}
