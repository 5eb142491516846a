/**
 * `aiSdk` with packages of the AI SDK as they are: one through the whole suite, one for what only Anthropic has. They are
 * no dependencies of this repository: EVERLAP_AI_SDK is a folder that has them in its node_modules.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Message } from '../../src/conversation/message.js';
import { aiSdk, type AiSdkModel } from '../../src/models/ai-sdk.js';
import type { ModelRequest } from '../../src/models/provider.js';
import { chatStage } from './chat-stage.js';
import { providerSuite } from './provider-suite.js';
import { serve, type Served } from './recorded.js';

type Models = (modelId: string) => AiSdkModel;
type Maker = (options: Record<string, unknown>) => Models;

/** undefined where the package is not there. */
async function maker(name: string, made: string): Promise<Maker | undefined> {
  const from = process.env['EVERLAP_AI_SDK'];
  const require = createRequire(from === undefined ? import.meta.url : join(from, 'x.js'));
  let path: string;
  try {
    path = require.resolve(name);
  } catch {
    return undefined;
  }
  const module = (await import(pathToFileURL(path).href)) as Record<string, Maker>;
  return module[made];
}

const compatible = await maker('@ai-sdk/openai-compatible', 'createOpenAICompatible');
const anthropic = await maker('@ai-sdk/anthropic', 'createAnthropic');

if (compatible) {
  providerSuite('aiSdk with @ai-sdk/openai-compatible', (script) =>
    chatStage(script, (baseURL) => {
      const options = {
        name: 'scripted',
        baseURL,
        apiKey: 'scripted',
        includeUsage: true,
        supportsStructuredOutputs: true,
      };
      return aiSdk(compatible(options));
    }),
  );
}

const Sent = z.object({
  messages: z.array(z.object({ role: z.string(), content: z.array(z.looseObject({ type: z.string() })) })),
});

describe.skipIf(!anthropic)('aiSdk with @ai-sdk/anthropic', () => {
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
    const provider = aiSdk(anthropic?.({ baseURL: server.baseUrl, apiKey: 'scripted' }) ?? never, {
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

const never: Models = () => {
  throw new Error('The package is not there.');
};

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
