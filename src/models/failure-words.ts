/**
 * The codes and wordings by which providers tell what went wrong. Data only. Codes are compared in lower case and
 * whole; wordings are looked for in the messages of an error, never in what it quotes.
 */

export const MALFORMED_CALL_CODES: readonly string[] = [
  // Groq: the model's call did not fit. The next try usually does.
  'tool_use_failed',
  'output_parse_failed',
  'json_validate_failed',
];

export const QUOTA_CODES: readonly string[] = [
  'insufficient_quota',
  'insufficient_user_quota', // One API
  'insufficient_balance',
  'billing_hard_limit_reached',
  'billing_not_active',
  'exceeded_current_quota_error', // Moonshot
  'arrearage', // Alibaba
  'arrears',
  'payment_required',
  'credit_limit_exceeded',
  '1113', // Zhipu
  '1008', // MiniMax
];
export const QUOTA_WORDS: readonly RegExp[] = [
  /exceeded your current quota/i,
  /insufficient (balance|credit|fund|quota)/i,
  /credit balance is too low/i, // Anthropic, under invalid_request_error
  /used all available credits|monthly spending limit/i, // xAI, under 403
  /requires more credits|add (more )?credits/i, // OpenRouter
  /billing (hard )?limit|overdue (payment|balance)|account is suspended/i,
];

export const AUTH_CODES: readonly string[] = [
  'invalid_api_key',
  'api_key_invalid',
  'authentication_error',
  'invalid_authentication_error',
  'permission_error',
  'unauthenticated',
  'unauthorized',
  'permission_denied',
];
export const AUTH_WORDS: readonly RegExp[] = [
  /api key (not valid|is invalid|not found|expired)/i, // Gemini, with 400
  /(invalid|incorrect|missing|no) api[ _-]?key/i,
];

export const FILTER_CODES: readonly string[] = [
  'content_filter',
  'content_filtered',
  'content_policy_violation',
  'responsibleaipolicyviolation',
  'data_inspection_failed', // Alibaba
  'datainspectionfailed',
  'prohibited_content',
  'safety',
  '1301', // Zhipu
];
export const FILTER_WORDS: readonly RegExp[] = [
  /content management policy/i, // Azure
  /content exists risk/i, // DeepSeek
  /considered high risk/i, // Moonshot
  /flagged as potentially violating/i, // OpenAI's reasoning models, code invalid_prompt
  /requires moderation on|flagged for "/i, // OpenRouter, under 403
  /inappropriate content|safety (system|policy|filter)|content (policy|filter)/i,
];

export const OVERFLOW_CODES: readonly string[] = [
  'context_length_exceeded',
  'context_window_exceeded',
  'contextwindowexceedederror',
  'exceed_context_size_error', // llama.cpp
  'model_max_prompt_tokens_exceeded', // GitHub Copilot
  'tokens_limit_reached', // GitHub Models
  'request_too_large', // Anthropic
  '1261', // Zhipu
];
export const OVERFLOW_WORDS: readonly RegExp[] = [
  // OpenAI, DeepSeek, vLLM, OpenRouter: "maximum context length is …"; Mistral: "too large for model with … maximum context length"
  /maximum context length/i,
  /context[ _](length|window|size|limit)s? (is |was |has been )?exceed/i,
  // OpenAI: "exceeds the context window"; llama.cpp: "exceeds the available context size"; Ollama: "exceeded max context length"
  /exceed(s|ed|ing)? (the |this |your |model's |max |maximum |available |allowed )*(model'?s? )?context/i,
  /context window exceeds/i, // MiniMax
  /(longer|greater|larger|more) than (the )?(model'?s? )?(maximum )?(context|model) length/i, // SGLang, vLLM, LM Studio
  /too long to fit into the model/i, // vLLM
  /maximum model length/i, // vLLM
  /prompt is too long|prompt too long/i, // Anthropic, Ollama
  /input is too long/i, // Bedrock
  /input token count.{0,40}exceeds the maximum/i, // Gemini
  /maximum prompt length is/i, // xAI
  /prompt token count of \d+ exceeds the limit/i, // GitHub Copilot
  /prompt (tokens? )?(limit exceeded|exceeds max(imum)? length)/i,
  /exceeded model token limit/i, // Moonshot
  /range of input length should be/i, // Alibaba
  /reduce the length of (the|your) (messages|prompt|input)/i, // OpenAI, Groq
  /input length.{0,40}exceeds/i, // SGLang, Ollama
  /`?inputs`? (tokens? \+|must have less than)/i, // Text Generation Inference
  /max_tokens must be at least 1, got -/i, // vLLM, where the prompt alone fills the context
  /context length of only/i, // LM Studio
  /context the overflows/i, // LM Studio, its own words
  /string too long\. expected a string with maximum length \d{6,}/i, // OpenAI: one message over 10 MB
];

/** In-stream errors without a status: whatever else they say, a later try may pass. */
export const TRANSIENT_CODE =
  /rate_?limit|too_many|overload|capacity|server_error|internal|unavailable|timeout|exhausted/;

/** In-stream errors without a status: these are the request's own fault. */
export const BAD_REQUEST_CODES: readonly string[] = [
  'invalid_request_error',
  'bad_request',
  'badrequesterror',
  'invalid_argument',
  'invalid_prompt',
  'not_found_error',
  'model_not_found',
  'unsupported_value',
  'unsupported_parameter',
];
