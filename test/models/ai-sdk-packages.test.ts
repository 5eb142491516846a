/** `aiSdk` with packages of the AI SDK as they are: one through the whole suite, one for what only Anthropic has. */
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Message } from '../../src/conversation/message.js';
import { aiSdk } from '../../src/models/ai-sdk.js';
import type { ModelRequest } from '../../src/models/provider.js';
import { chatStage } from './chat-stage.js';
import { providerSuite } from './provider-suite.js';
import { serve, type Served } from './recorded.js';

const scripted = { name: 'scripted', apiKey: 'scripted', includeUsage: true };

providerSuite('aiSdk with @ai-sdk/openai-compatible', (script) =>
  chatStage(script, (baseURL) =>
    aiSdk(createOpenAICompatible({ ...scripted, baseURL, supportsStructuredOutputs: true })),
  ),
);

const output = {
  name: 'verdict',
  schema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'], additionalProperties: false },
};
const base: Omit<ModelRequest, 'model'> = {
  instructions: 'Be brief.',
  messages: [{ role: 'user', kind: 'task', text: 'Do it.' }],
  tools: [],
  toolChoice: 'auto',
  signal: new AbortController().signal,
  onEvent: () => undefined,
};

it('asks for a form by a tool where @ai-sdk/openai-compatible is not told that its server knows schemas', async () => {
  const finalAnswer = { id: 'call_1', name: 'final_answer', arguments: '{"n":1}' };
  const stage = await chatStage(
    [{ text: 'One.', then: 'silence' }, { calls: [finalAnswer] }, { calls: [finalAnswer] }],
    (baseURL) => aiSdk(createOpenAICompatible({ ...scripted, baseURL })),
  );
  for (let n = 0; n < 2; n += 1) {
    const { message } = await stage.provider.answer({ ...base, model: stage.model, output });
    expect(message.toolCalls).toMatchObject([finalAnswer]);
  }
  expect(stage.seen().map(({ tools }) => tools)).toEqual([[], ['final_answer'], ['final_answer']]);
  await stage.close();
});

const Sent = z.object({
  messages: z.array(z.object({ role: z.string(), content: z.array(z.looseObject({ type: z.string() })) })),
});

describe('aiSdk with @ai-sdk/anthropic', () => {
  let server: Served;
  beforeAll(async () => {
    server = await serve(({ n }, response) => {
      if (n === 2) {
        response.writeHead(529, { 'content-type': 'application/json' });
        return void response.end('{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}');
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const events = n === 4 ? [...STREAM.slice(0, 5), OVERLOADED] : n === 5 ? STREAM.slice(0, 5) : STREAM;
      response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
    });
  });
  afterAll(() => server.close());

  it('keeps thinking with its signature, and tells overloads and cuts', async () => {
    const provider = aiSdk(createAnthropic({ baseURL: server.baseUrl, apiKey: 'scripted' }), {
      providerOptions: { anthropic: { thinking: { type: 'enabled', budgetTokens: 2000 } } },
    });
    const task: Message = { role: 'user', kind: 'task', text: 'Do it.' };
    const request: ModelRequest = {
      model: 'claude-sonnet-4-5',
      instructions: 'Be brief.',
      messages: [task],
      tools: [
        { name: 'read', description: 'Reads.', parameters: { type: 'object', properties: { n: { type: 'number' } } } },
      ],
      toolChoice: 'auto',
      signal: new AbortController().signal,
      onEvent: () => undefined,
    };
    const { message, usage } = await provider.answer(request);
    expect(message).toMatchObject({
      text: 'I look.',
      reasoning: 'Hm, a file.',
      toolCalls: [{ id: 'toolu_1', name: 'read', arguments: '{"n":1}' }],
    });
    expect(usage).toEqual({ input: 105, output: 30, cachedInput: 100 });
    const result: Message = { role: 'tool', callId: 'toolu_1', name: 'read', text: 'One.' };
    const next = { ...request, messages: [task, message, result] };
    await expect(provider.answer(next)).rejects.toMatchObject({ failureClass: 'transient', details: { status: 529 } });
    await provider.answer(next);
    const { messages } = Sent.parse(server.requests[2]);
    expect(messages[1]).toMatchObject({
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm, a file.', signature: 'sig_1' },
        { type: 'redacted_thinking', data: 'xyz' },
        { type: 'text', text: 'I look.' },
        { type: 'tool_use', id: 'toolu_1', name: 'read', input: { n: 1 } },
      ],
    });
    expect(messages[2]).toMatchObject({ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1' }] });
    await expect(provider.answer(request)).rejects.toMatchObject({ failureClass: 'transient' });
    await expect(provider.answer(request)).rejects.toMatchObject({ failureClass: 'transient' });
  });
});

it.each([
  // By a field of the request.
  [
    'claude-sonnet-4-5',
    [],
    [
      { type: 'text', text: '' },
      { type: 'text_delta', text: '{"n":1}' },
    ],
  ],
  // By a tool of the provider's own, beside those of the request.
  [
    'claude-3-haiku-20240307',
    ['json'],
    [
      { type: 'tool_use', id: 'toolu_1', name: 'json', input: {} },
      { type: 'input_json_delta', partial_json: '{"n":1}' },
    ],
  ],
])('leaves it to @ai-sdk/anthropic how %s is asked for a form', async (model, own, [start, ...deltas]) => {
  const events = [STREAM[0], ...block(0, start ?? {}, ...deltas), ...STREAM.slice(-2)];
  const server = await serve((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
  });
  const provider = aiSdk(createAnthropic({ baseURL: server.baseUrl, apiKey: 'scripted' }));
  const tool = { name: 'read', description: 'Reads.', parameters: { type: 'object', properties: {} } };
  const { message } = await provider.answer({ ...base, model, tools: [tool], output });
  expect(message).toEqual({ role: 'assistant', text: '{"n":1}' });
  const { tools } = z.object({ tools: z.array(z.object({ name: z.string() })) }).parse(server.requests[0]);
  expect(tools.map(({ name }) => name)).toEqual(['read', ...own]);
  await server.close();
});

const OVERLOADED = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
const block = (index: number, start: object, ...deltas: object[]) => [
  { type: 'content_block_start', index, content_block: start },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
];
const STREAM = [
  {
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 5, cache_read_input_tokens: 100, cache_creation_input_tokens: 0, output_tokens: 1 },
    },
  },
  { type: 'ping' },
  ...block(
    0,
    { type: 'thinking', thinking: '', signature: '' },
    { type: 'thinking_delta', thinking: 'Hm, a file.' },
    { type: 'signature_delta', signature: 'sig_1' },
  ),
  ...block(1, { type: 'redacted_thinking', data: 'xyz' }),
  ...block(2, { type: 'text', text: '' }, { type: 'text_delta', text: 'I look.' }),
  ...block(
    3,
    { type: 'tool_use', id: 'toolu_1', name: 'read', input: {} },
    { type: 'input_json_delta', partial_json: '{"n"' },
    { type: 'input_json_delta', partial_json: ':1}' },
  ),
  { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 30 } },
  { type: 'message_stop' },
];
