/**
 * What one server takes that another refuses, as data. Chosen by base URL and model, overridable by the user, and
 * corrected by what a server refuses (refusal-lesson.ts). Pure.
 */

export interface Traits {
  /** Which ids of tool calls are taken: `max40` OpenAI, `safe64` letters, digits, _ and -, `alnum9` Mistral. */
  readonly toolCallId: 'any' | 'max40' | 'safe64' | 'alnum9';
  /** User and assistant must take turns: neighbours of one role are joined. */
  readonly alternate: boolean;
  /** A user message may follow a tool message directly. Where not, a short assistant message stands between. */
  readonly userAfterTool: boolean;
  /** Who speaks the instructions. `user`: they open the first user message. */
  readonly instructions: 'system' | 'developer' | 'user';
  /** The content of an assistant message that has calls and no text. */
  readonly emptyContent: 'null' | 'text';
  readonly maxTokens: 'max_tokens' | 'max_completion_tokens';
  /** `stream_options: { include_usage: true }` is taken. */
  readonly streamOptions: boolean;
  /** `tool_choice: 'none'` is taken. Where not, a request that forbids calls has no tools. */
  readonly toolChoiceNone: boolean;
  /** `strict` in a tool's schema is taken. */
  readonly strictTools: boolean;
  /**
   * How an answer in a given form is asked for: by `response_format` (`strict` where the schema is one for that), by a tool
   * that the model calls with it, or, where the model has no tools, in the instructions.
   */
  readonly output: 'strict' | 'schema' | 'tool' | 'words';
  /** A form does not keep the model from calling tools. Servers that force it by a grammar do keep it: a tool then. */
  readonly outputWithTools: boolean;
  /** Tool messages carry the tool's name. */
  readonly toolName: boolean;
  /** Unknown fields of the server's own messages are sent back. */
  readonly sendExtra: boolean;
  /**
   * When `reasoning_content` is sent back: always as it came, on messages with calls only (DeepSeek ignores or refuses it
   * elsewhere), or on every message with calls, '' where none came.
   */
  readonly reasoningContent: 'as_came' | 'on_calls' | 'required_on_calls';
  /** Thinking that came as a part of a message's content is sent back as one. */
  readonly thinkingParts: boolean;
  /** Parameters that are left out of the request. */
  readonly without: readonly string[];
  /** Fields that are left out of messages that are sent back. */
  readonly withoutExtra: readonly string[];
}

export const DEFAULT_TRAITS: Traits = {
  toolCallId: 'any',
  alternate: false,
  userAfterTool: true,
  instructions: 'system',
  emptyContent: 'null',
  maxTokens: 'max_tokens',
  streamOptions: true,
  toolChoiceNone: true,
  strictTools: true,
  output: 'strict',
  outputWithTools: false,
  toolName: false,
  sendExtra: true,
  reasoningContent: 'as_came',
  thinkingParts: false,
  without: [],
  withoutExtra: [],
};

interface Rule {
  readonly host?: RegExp;
  readonly model?: RegExp;
  readonly traits: Partial<Traits>;
}

/** All rules that fit are applied, in this order. */
const RULES: readonly Rule[] = [
  // https://platform.openai.com/docs/api-reference/chat/create: max_tokens is deprecated, o-series and later refuse it.
  {
    host: /(^|\.)(openai\.com|openai\.azure\.com|cognitiveservices\.azure\.com)$/,
    traits: {
      maxTokens: 'max_completion_tokens',
      toolCallId: 'max40',
      sendExtra: false,
      outputWithTools: true,
    },
  },
  { model: /^(o\d|gpt-[5-9])/, traits: { maxTokens: 'max_completion_tokens' } },
  // https://docs.mistral.ai/api: extra inputs are forbidden; usage comes unasked in the last chunk.
  // https://docs.mistral.ai/inference/conversations/reasoning: thinking stays in the conversation.
  {
    host: /(^|\.)mistral\.ai$/,
    traits: { streamOptions: false, sendExtra: false, toolName: true, thinkingParts: true },
  },
  {
    model: /^(mistral|mixtral|ministral|magistral|codestral|devstral|pixtral)/,
    traits: { toolCallId: 'alnum9', userAfterTool: false, alternate: true },
  },
  { model: /^claude/, traits: { toolCallId: 'safe64' } },
  // https://api-docs.deepseek.com/guides/thinking_mode: tool turns want it back, others do not.
  // https://api-docs.deepseek.com/guides/json_mode: no schemas.
  { host: /(^|\.)deepseek\.com$/, traits: { reasoningContent: 'on_calls', output: 'tool' } },
  // https://docs.claude.com/en/api/openai-sdk: response_format is ignored.
  { host: /(^|\.)anthropic\.com$/, traits: { output: 'tool' } },
  { host: /(^|\.)(groq\.com|cerebras\.ai)$/, traits: { sendExtra: false, maxTokens: 'max_completion_tokens' } },
  { host: /(^|\.)googleapis\.com$/, traits: { toolName: true } },
];

/** The traits of a model at a server. An unreadable base URL has the defaults. */
export function traitsFor(baseUrl: string, model: string, overrides: Partial<Traits> = {}): Traits {
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : '';
  // Gateways put the maker before the model's name.
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase();
  const fitting = RULES.filter((rule) => (rule.host?.test(host) ?? true) && (rule.model?.test(name) ?? true));
  const known = fitting.reduce<Traits>((traits, rule) => ({ ...traits, ...rule.traits }), DEFAULT_TRAITS);
  return { ...known, ...overrides };
}
