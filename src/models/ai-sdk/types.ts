/**
 * The part of the AI SDK's model interface that is used here, by shape: nothing is imported from it, so that `everlap/worker`
 * has types without it. `LanguageModelV4` and V3 of `@ai-sdk/provider` fit. What a stream brings is read as unknown.
 */
import type { JsonObject } from '../../conversation/json.js';

export interface AiSdkModel {
  readonly specificationVersion: 'v3' | 'v4';
  /** E.g. `anthropic.messages`. */
  readonly provider: string;
  readonly modelId: string;
  doStream(options: AiSdkCall): PromiseLike<{ readonly stream: ReadableStream<unknown> }>;
}

/** By provider name. */
export type ProviderOptions = Record<string, JsonObject>;

interface WithOptions {
  providerOptions?: ProviderOptions;
}
type TextPart = WithOptions & { type: 'text'; text: string };
type ReasoningPart = WithOptions & { type: 'reasoning'; text: string };
type CallPart = WithOptions & {
  type: 'tool-call';
  toolCallId: string;
  toolName: string;
  input: unknown;
  providerExecuted?: boolean;
};
export type ResultPart = WithOptions & {
  type: 'tool-result';
  toolCallId: string;
  toolName: string;
  output: { type: 'text' | 'error-text'; value: string } | { type: 'json' | 'error-json'; value: JsonObject[string] };
};
/** Known to V4 only, and made by its models only: no part of what both versions take. */
export type CustomPart = WithOptions & { type: 'custom'; kind: string };
export type AnswerPart = TextPart | ReasoningPart | CallPart | ResultPart;

export type PromptMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: TextPart[] }
  | { role: 'assistant'; content: AnswerPart[] }
  | { role: 'tool'; content: ResultPart[] };

export interface AiSdkCall {
  prompt: PromptMessage[];
  maxOutputTokens?: number;
  temperature?: number;
  topP?: number;
  topK?: number;
  presencePenalty?: number;
  frequencyPenalty?: number;
  stopSequences?: string[];
  seed?: number;
  responseFormat?: { type: 'json'; name: string; schema: object };
  tools?: { type: 'function'; name: string; description: string; inputSchema: object; strict?: boolean }[];
  toolChoice?: { type: 'auto' } | { type: 'none' };
  providerOptions?: ProviderOptions;
  headers?: Record<string, string>;
  abortSignal?: AbortSignal;
}
