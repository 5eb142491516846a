/** What providers say when something went wrong, and what it means. The wordings are quoted from public reports. */
import { describe, expect, it } from 'vitest';
import { failureOf, failureOfError, failureOfReply, MAX_SENTENCE } from '../../src/models/failure-class.js';
import type { FailureClass } from '../../src/models/provider.js';

const KEY = 'my-own-k3y-without-shape';
const context = { model: 'm', server: 'api.example.org', keySource: 'MY_KEY', secrets: [KEY], nowMs: 1_000_000 };

const reply = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  failureOfReply(
    { status, body: typeof body === 'string' ? body : JSON.stringify(body), headers: new Headers(headers) },
    context,
  );
const error = (message: string, more: object = {}) => ({ error: { message, ...more } });

const table: [FailureClass, number, unknown][] = [
  ['transient', 429, error('Rate limit reached for gpt-4o', { code: 'rate_limit_exceeded', type: 'requests' })],
  [
    'transient',
    429,
    error(
      'Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 60000. The input or output tokens must be reduced in order to run successfully.',
      { code: 'rate_limit_exceeded', type: 'tokens' },
    ),
  ],
  ['transient', 429, error('Too many tokens, please wait. Please reduce the length of the messages')],
  [
    'transient',
    429,
    [
      {
        error: {
          code: 429,
          message: 'You exceeded your current quota, please check your plan and billing details.',
          status: 'RESOURCE_EXHAUSTED',
        },
      },
    ],
  ],
  ['transient', 408, ''],
  ['transient', 409, ''],
  ['transient', 425, ''],
  ['transient', 500, error('The server had an error')],
  ['transient', 500, error('Failed to parse tool call arguments as JSON: unexpected end of input')],
  ['transient', 502, '<html><head><title>502 Bad Gateway</title></head></html>'],
  ['transient', 503, 'upstream connect error'],
  ['transient', 529, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }],
  ['transient', 302, ''],
  [
    'transient',
    400,
    error('Failed to call a function.', { code: 'tool_use_failed', failed_generation: 'maximum context length' }),
  ],
  ['quota', 429, error('You exceeded your current quota', { type: 'insufficient_quota' })],
  ['quota', 402, error('Insufficient Balance')],
  ['quota', 402, ''],
  [
    'quota',
    400,
    {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'Your credit balance is too low to access the API.' },
    },
  ],
  [
    'quota',
    403,
    {
      code: 'permission',
      error: 'Your team has either used all available credits or reached its monthly spending limit.',
    },
  ],
  ['quota', 400, { code: 'Arrearage', message: 'Access denied' }],
  ['auth', 401, error('Incorrect API key provided', { code: 'invalid_api_key' })],
  ['auth', 401, { detail: 'Invalid API Key' }],
  ['auth', 403, ''],
  ['auth', 400, [error('API key not valid. Please pass a valid API key.', { status: 'INVALID_ARGUMENT' })]],
  ['content_filter', 400, error('The response was filtered', { code: 'content_filter' })],
  ['content_filter', 400, error('x', { innererror: { code: 'ResponsibleAIPolicyViolation' } })],
  ['content_filter', 400, error('Content Exists Risk', { type: 'invalid_request_error' })],
  [
    'content_filter',
    400,
    error('Invalid prompt: your prompt was flagged as potentially violating our usage policy.', {
      code: 'invalid_prompt',
    }),
  ],
  ['content_filter', 400, { code: 'data_inspection_failed', message: 'Input data may contain inappropriate content.' }],
  [
    'content_filter',
    403,
    error('Your chosen model requires moderation on Provider. Your input was flagged for "sexual".', { code: 403 }),
  ],
  ['bad_request', 404, error('The model `x` does not exist', { code: 'model_not_found' })],
  ['bad_request', 400, error("Invalid schema for function 'f'")],
  ['bad_request', 400, error('max_tokens is too large: 40000. This model supports at most 16384 completion tokens.')],
  [
    'bad_request',
    422,
    { detail: [{ loc: ['body', 'messages'], msg: 'field required', input: 'maximum context length' }] },
  ],
  ['bad_request', 400, ''],
  ['bad_request', 400, 'Bad Request'],
];

const overflows: [string, number, unknown][] = [
  [
    'OpenAI',
    400,
    error("This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.", {
      code: 'context_length_exceeded',
    }),
  ],
  ['OpenAI, newer', 400, error('Your input exceeds the context window of this model.')],
  ['OpenAI, by code alone', 400, error('x', { code: 'context_length_exceeded' })],
  [
    'OpenAI, one message',
    400,
    error(
      "Invalid 'messages[1].content': string too long. Expected a string with maximum length 10485760, but got a string with length 20000000 instead.",
      { code: 'string_above_max_length' },
    ),
  ],
  [
    'vLLM',
    400,
    {
      object: 'error',
      message: "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
      type: 'BadRequestError',
      code: 400,
    },
  ],
  [
    'vLLM, prompt',
    400,
    { object: 'error', message: 'The decoder prompt (length 5000) is longer than the maximum model length of 4096.' },
  ],
  ['vLLM, full', 400, error('max_tokens must be at least 1, got -12.')],
  [
    'llama.cpp',
    400,
    error('the request exceeds the available context size, try increasing it', {
      type: 'exceed_context_size_error',
      n_ctx: 4096,
    }),
  ],
  [
    'llama.cpp, older',
    500,
    error('the request exceeds the available context size. try increasing the context size or enable context shift'),
  ],
  [
    'Anthropic',
    400,
    {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'prompt is too long: 213462 tokens > 200000 maximum' },
    },
  ],
  ['Anthropic, with output', 400, error('input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000')],
  [
    'Anthropic, body',
    413,
    { type: 'error', error: { type: 'request_too_large', message: 'Request exceeds the maximum size' } },
  ],
  ['Bedrock', 400, { message: 'Input is too long for requested model.' }],
  [
    'Gemini',
    400,
    [
      error('The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).', {
        status: 'INVALID_ARGUMENT',
      }),
    ],
  ],
  ['DeepSeek', 400, error("This model's maximum context length is 65536 tokens. However, you requested 70000 tokens")],
  [
    'Mistral',
    400,
    {
      object: 'error',
      message: 'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
      type: 'invalid_request_error',
      code: '3051',
    },
  ],
  ['Ollama', 400, error('prompt too long; exceeded max context length by 500 tokens')],
  ['Ollama, other', 400, { error: 'the input length exceeds the context length' }],
  [
    'xAI',
    400,
    {
      code: 'Client specified an invalid argument',
      error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    },
  ],
  ['Groq', 400, error('Please reduce the length of the messages or completion.', { code: 'context_length_exceeded' })],
  [
    'Groq, size',
    413,
    error('Request too large for model on tokens per minute (TPM): Limit 6000, Requested 9000', {
      code: 'rate_limit_exceeded',
    }),
  ],
  [
    'OpenRouter',
    400,
    error('Provider returned error', {
      code: 400,
      metadata: { raw: '{"error":{"message":"This endpoint\'s maximum context length is 8192 tokens."}}' },
    }),
  ],
  [
    'SGLang',
    400,
    { object: 'error', message: "The input (12000 tokens) is longer than the model's context length (8192 tokens)." },
  ],
  [
    'TGI',
    422,
    { error: 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096', error_type: 'validation' },
  ],
  [
    'Moonshot',
    400,
    error('Invalid request: Your request exceeded model token limit: 131072', { type: 'invalid_request_error' }),
  ],
  ['MiniMax', 400, error('invalid params, context window exceeds limit (2013)')],
  ['Alibaba', 400, { code: 'InvalidParameter', message: 'Range of input length should be [1, 129024]' }],
  ['Zhipu', 400, { error: { code: '1261', message: 'Prompt exceeds max length' } }],
  [
    'LM Studio',
    400,
    {
      error:
        'Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens',
    },
  ],
  [
    'GitHub Copilot',
    400,
    error('prompt token count of 140000 exceeds the limit of 128000', { code: 'model_max_prompt_tokens_exceeded' }),
  ],
  ['a proxy', 413, '<html><head><title>413 Request Entity Too Large</title></head></html>'],
];

describe('replies', () => {
  it.each(table)('%s: %d %j', (failureClass, status, body) => {
    expect(reply(status, body)).toMatchObject({ failureClass, status });
  });

  it.each(overflows)('overflow as %s says it', (_, status, body) => {
    expect(reply(status, body).failureClass).toBe('overflow');
  });

  it.each(overflows.filter(([, , body]) => typeof body === 'object'))(
    'the same inside a 200, from %s',
    (_, status, body) => {
      const isSizeOnly = status === 413 && !JSON.stringify(body).includes('request_too_large');
      expect(failureOfError(body, context).failureClass).toBe(isSizeOnly ? 'transient' : 'overflow');
    },
  );
});

it.each<[FailureClass, unknown]>([
  ['transient', { error: { message: 'Overloaded', type: 'overloaded_error' } }],
  ['transient', { error: { message: 'Rate limit', type: 'invalid_request_error', code: 'rate_limit_exceeded' } }],
  ['transient', { error: { code: 502, message: 'Provider disconnected' } }],
  ['transient', 'something broke'],
  ['transient', {}],
  ['auth', { error: { code: 401, message: 'No auth credentials found' } }],
  ['quota', { choices: null, base_resp: { status_code: 1008, status_msg: 'insufficient balance' } }],
  ['bad_request', { error: { message: 'bad', type: 'invalid_request_error' } }],
  ['content_filter', { error: { code: 'content_filter', message: 'x' } }],
])('%s inside a 200: %j', (failureClass, value) => {
  expect(failureOfError(value, context).failureClass).toBe(failureClass);
});

describe('how long to wait', () => {
  const at = (seconds: number) => new Date(context.nowMs + seconds * 1000).toUTCString();
  it.each<[number | undefined, Record<string, string>, unknown]>([
    [2000, { 'retry-after': '2' }, ''],
    [1500, { 'retry-after': '1.5' }, ''],
    [120, { 'retry-after-ms': '120', 'retry-after': '1' }, ''],
    [30_000, { 'retry-after': at(30) }, ''],
    [0, { 'retry-after': at(-30) }, ''],
    [0, { 'retry-after': '-5' }, ''],
    [undefined, { 'retry-after': 'soon' }, ''],
    [undefined, { 'retry-after': '9'.repeat(400) }, ''],
    [undefined, {}, ''],
    [1200, {}, error('Rate limit reached. Please try again in 1.2s. Visit')],
    [20, {}, error('Please try again in 20ms.')],
    [90_500, {}, error('Please try again in 1m30.5s.')],
    [37_000, {}, { error: { details: [{ '@type': 'RetryInfo', retryDelay: '37s' }] } }],
  ])('%s from %j %j', (ms, headers, body) => {
    expect(reply(429, body, headers).retryAfterMs).toBe(ms);
  });

  it('is not told where waiting does not help', () => {
    expect(reply(401, '', { 'retry-after': '5' }).retryAfterMs).toBeUndefined();
  });
});

describe('the sentence', () => {
  it('says who, what and why', () => {
    expect(reply(401, { detail: 'Invalid API Key' }).sentence).toBe(
      'Model m at api.example.org refused the API key (401): Invalid API Key. Check the API key in MY_KEY.',
    );
    expect(reply(502, '<html><title>Bad\nGateway</title>').sentence).toMatch(/answered 502.*HTML page, "Bad Gateway"/);
    expect(reply(400, '').sentence).toMatch(/refused the request \(400\): no explanation/);
    expect(reply(400, error('Provider returned error', { metadata: { raw: '{"message":"inner"}' } })).sentence).toMatch(
      /inner/,
    );
  });

  it.each([
    ['the key itself', KEY],
    ['sk-', 'sk-proj-abc_DEF-123456'],
    ['sk- with stars', 'sk-abc***wxyz'],
    ['Bearer', 'Bearer abc.def.ghi'],
    ['gsk_', 'gsk_aBcDeFgH123456'],
    ['a token of Google', 'AIzaSyA1234567890abcdef'],
  ])('never has a key: %s', (_, key) => {
    const quoted = `wrong key ${key}, see`;
    for (const body of [error(quoted), { detail: quoted }, quoted, `<html><p>${quoted}</p>`]) {
      const { sentence } = reply(401, body);
      expect(sentence).toContain('[key]');
      expect(sentence).not.toContain(key.slice(7));
    }
    expect(failureOf('transient', quoted, context).sentence).not.toContain(key.slice(7));
  });

  it('hides a short key as a word only', () => {
    const local = { ...context, secrets: ['none', 'a.c*'] };
    const words = (text: string) => failureOfError(text, local).sentence;
    expect(words('none, nonetheless')).toMatch(/\[key\], nonetheless$/);
    expect(words('a.c* abcc')).toMatch(/: \[key\] abcc$/);
  });

  it('is cut on whole characters, and keeps its advice', () => {
    const { sentence } = reply(401, error('🌍'.repeat(3000)));
    expect(sentence.length).toBeLessThanOrEqual(MAX_SENTENCE);
    expect(sentence).toMatch(/🌍… Check the API key in MY_KEY\.$/u);
    for (const length of [1900, 1901, 1999, 2000, 2001]) {
      const cut = reply(500, `${'x'.repeat(length)}${'🌍'.repeat(100)}`).sentence;
      expect(cut.length).toBeLessThanOrEqual(MAX_SENTENCE);
      expect(cut).not.toMatch(/\p{Surrogate}/u);
    }
  });
});

it('reads deep, wide and odd bodies without harm', () => {
  let deep: unknown = 'x';
  for (let i = 0; i < 5000; i += 1) deep = { error: deep, list: [deep] };
  expect(failureOfError(deep, context).failureClass).toBe('transient');
  expect(reply(500, '['.repeat(10_000)).failureClass).toBe('transient');
  expect(
    reply(400, { error: Array.from({ length: 10_000 }, (_, n) => ({ message: `m${n}` })) }).sentence.length,
  ).toBeLessThanOrEqual(MAX_SENTENCE);
});
