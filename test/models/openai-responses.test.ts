/** What only the Responses API has: items of many kinds, events in odd shapes, refusals about items. */
import { afterEach, describe, expect, it } from 'vitest';
import fc from 'fast-check';
import type { JsonObject } from '../../src/conversation/json.js';
import type { Message } from '../../src/conversation/message.js';
import { openaiResponses, type OpenAiResponsesOptions } from '../../src/models/openai-responses.js';
import { ModelFailure, type ModelRequest, type StreamDelta } from '../../src/models/provider.js';
import { readReply } from '../../src/models/read-reply.js';
import { ResponsesAssembly } from '../../src/models/responses/assembly.js';
import { type Play, pieces, serve, type Served, streamOf } from './recorded.js';
import { eventsOf, itemsOf, sse } from './responses-server.js';

const servers: Served[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const task: Message = { role: 'user', kind: 'task', text: 'Do it.' };
const base: ModelRequest = {
  model: 'gpt-5-mini',
  instructions: 'Be brief.',
  messages: [task],
  tools: [],
  toolChoice: 'auto',
  signal: new AbortController().signal,
  onEvent: () => undefined,
};

async function start(play: Play, options: OpenAiResponsesOptions = {}) {
  const server = await serve(play);
  servers.push(server);
  const provider = openaiResponses({ baseUrl: server.baseUrl, apiKey: 'scripted', ...options });
  return { server, ask: (request: Partial<ModelRequest> = {}) => provider.answer({ ...base, ...request }) };
}
type Response = Parameters<Play>[1];
const stream = (response: Response, events: readonly object[]) =>
  void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(events.map(sse).join(''));
const hello = (response: Response) => stream(response, eventsOf({ text: 'Hello' }, 1));
const refuse = (response: Response, status: number, message: string, code: string | null = null) =>
  void response.writeHead(status).end(JSON.stringify({ error: { message, type: 'invalid_request_error', code } }));
const failureOf = (asked: Promise<unknown>) =>
  asked.then(
    () => 'an answer',
    (error: unknown) => (error instanceof ModelFailure ? [error.failureClass, error.message] : error),
  );
const inputOf = (server: Served, n: number): unknown => (server.requests[n] as { input: unknown }).input;

describe('items', () => {
  const search = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'x' } };
  const output = [
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA1', status: null },
    search,
    { type: 'reasoning', id: 'rs_2', summary: [{ type: 'summary_text', text: 'So.' }], encrypted_content: 'gAAAA2' },
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      phase: 'commentary',
      status: 'completed',
      content: [{ type: 'output_text', text: 'I look.', annotations: [{ type: 'url_citation' }] }],
    },
    { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'read', arguments: '{"n":1}', status: 'completed' },
    { type: 'message', id: 'msg_2', role: 'assistant', content: [{ type: 'refusal', refusal: 'But no more.' }] },
    { type: 'novelty', id: 'nov_1', data: [1, { a: null }] },
  ];
  const completed = { type: 'response.completed', response: { object: 'response', status: 'completed', output } };

  it('of every kind go back in their order, as they came', async () => {
    const { server, ask } = await start((_, response) => stream(response, [completed]));
    const { message } = await ask();
    expect(message).toMatchObject({
      text: 'I look.\n\nBut no more.',
      reasoning: 'So.',
      toolCalls: [{ id: 'call_1', name: 'read', arguments: '{"n":1}' }],
    });
    await ask({ messages: [task, message, { role: 'tool', callId: 'call_1', name: 'read', text: 'One.' }] });
    const own = (id: string, text: string) => ({
      type: 'message',
      id,
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text, annotations: [] }],
    });
    expect(inputOf(server, 1)).toEqual([
      { type: 'message', role: 'user', content: 'Do it.' },
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA1' },
      search,
      { type: 'reasoning', id: 'rs_2', summary: [{ type: 'summary_text', text: 'So.' }], encrypted_content: 'gAAAA2' },
      { ...own('msg_1', 'I look.'), phase: 'commentary' },
      { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'read', arguments: '{"n":1}' },
      own('msg_2', 'But no more.'),
      { type: 'novelty', id: 'nov_1', data: [1, { a: null }] },
      { type: 'function_call_output', call_id: 'call_1', output: 'One.' },
    ]);
  });

  it('are not kept where text and calls say it all', async () => {
    const { ask } = await start((_, response) =>
      stream(response, eventsOf({ text: 'Hi', calls: [{ id: 'c', name: 'read', arguments: '{}' }] }, 1)),
    );
    expect((await ask()).message.extra).toBeUndefined();
  });

  it('take a text that was joined since, whole', async () => {
    const { server, ask } = await start((_, response) => stream(response, [completed]));
    const { message } = await ask();
    const joined: Message = { ...message, text: `Before. ${message.text}`, toolCalls: undefined };
    await ask({ messages: [task, joined, task] });
    const items = inputOf(server, 1) as { type: string; content?: unknown }[];
    expect(items.map(({ type }) => type)).toEqual([
      'message',
      'reasoning',
      'web_search_call',
      'reasoning',
      'message',
      'novelty',
      'message',
    ]);
    expect(items[4]?.content).toMatchObject([{ text: 'Before. I look.\n\nBut no more.' }]);
  });

  it('of reasoning without content are left out: the server has stored nothing', async () => {
    const bare = { type: 'reasoning', id: 'rs_1', summary: [] };
    const { server, ask } = await start((_, response) => stream(response, eventsOf({ text: 'Hello' }, 1)));
    const message: Message = { role: 'assistant', text: 'Hi', extra: { responses_output: [] } };
    await ask({ messages: [task, message, task] });
    expect(new ResponsesAssembly().feed({ object: 'response', output: [bare] })).toEqual({});
    expect(inputOf(server, 0)).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: 'Hi' },
      { role: 'user' },
    ]);
  });
});

describe('the request', () => {
  it('stores nothing, asks for encrypted reasoning, and adds the tools of the server', async () => {
    const { server, ask } = await start((_, response) => hello(response));
    const parameters = {
      tools: [{ type: 'web_search' }],
      include: ['web_search_call.action.sources'],
      text: { verbosity: 'low' },
      reasoning: { effort: 'low' },
      max_output_tokens: 3,
    };
    const tool = { name: 'read', description: 'Reads.', parameters: { type: 'object', properties: {} } };
    const schema: JsonObject = { type: 'object' };
    await ask({ parameters, tools: [tool], output: { name: 'verdict', schema } });
    expect(server.requests[0]).toEqual({
      model: 'gpt-5-mini',
      store: false,
      stream: true,
      instructions: expect.stringMatching(/^Be brief\.\n\n.*final_answer/) as string,
      input: [{ type: 'message', role: 'user', content: 'Do it.' }],
      include: ['web_search_call.action.sources', 'reasoning.encrypted_content'],
      reasoning: { effort: 'low' },
      text: { verbosity: 'low' },
      tools: [
        { type: 'web_search' },
        { type: 'function', ...tool, strict: false },
        {
          type: 'function',
          name: 'final_answer',
          description: expect.any(String) as string,
          parameters: schema,
          strict: false,
        },
      ],
      max_output_tokens: 16,
    });
  });

  it('has the form in a field, with tools too, where the server lets tools be called then', async () => {
    const { server, ask } = await start((_, response) => hello(response), { traits: { outputWithTools: true } });
    const tool = { name: 'read', description: 'Reads.', parameters: { type: 'object', properties: {} } };
    const schema: JsonObject = { type: 'object' };
    await ask({ tools: [tool], output: { name: 'verdict', schema, strict: true } });
    expect(server.requests[0]).toMatchObject({
      instructions: 'Be brief.',
      text: { format: { type: 'json_schema', name: 'verdict', schema, strict: true } },
    });
  });
});

describe('lessons', () => {
  const answered: Message = {
    role: 'assistant',
    text: 'Hi',
    extra: {
      responses_output: [
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA' },
        { type: 'message', id: 'msg_1', length: 2 },
      ],
    },
  };
  const messages = [task, answered, task];

  const NOT_VERIFIED = 'The encrypted content gAAAA could not be verified.';
  const kindsOfAll = (server: Served) =>
    server.requests.map((_, n) => (inputOf(server, n) as { type: string }[]).map(({ type }) => type));

  it('items that are refused are left out from then on; newer ones go back as they came', async () => {
    const { server, ask } = await start(({ n }, response) =>
      n === 1 ? refuse(response, 400, NOT_VERIFIED, 'invalid_encrypted_content') : hello(response),
    );
    await ask({ messages });
    const newer: Message = {
      role: 'assistant',
      text: 'Ho',
      extra: {
        responses_output: [
          { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'gAAAA' },
          { type: 'message', id: 'msg_2', length: 2 },
        ],
      },
    };
    await ask({ messages: [...messages, newer, task] });
    expect(kindsOfAll(server)).toEqual([
      ['message', 'reasoning', 'message', 'message'],
      ['message', 'message', 'message'],
      ['message', 'message', 'message', 'reasoning', 'message', 'message'],
    ]);
    expect(inputOf(server, 1)).toMatchObject([{}, { role: 'assistant', content: 'Hi' }, {}]);
  });

  it('items without ids are left out of the one request that is refused for them', async () => {
    const { server, ask } = await start(({ n }, response) =>
      n === 1 ? refuse(response, 400, "Item of type 'web_search_call' was provided without its …") : hello(response),
    );
    const nameless: Message = {
      ...answered,
      extra: {
        responses_output: [
          { type: 'web_search_call', status: 'completed' },
          { type: 'message', length: 2 },
        ],
      },
    };
    await ask({ messages: [task, nameless, task] });
    expect(kindsOfAll(server)).toEqual([
      ['message', 'web_search_call', 'message', 'message'],
      ['message', 'message', 'message'],
    ]);
  });

  it('what is refused again and again is told in the end', async () => {
    const { server, ask } = await start((_, response) => refuse(response, 400, NOT_VERIFIED));
    expect(await failureOf(ask({ messages }))).toEqual(['bad_request', expect.stringContaining('not be verified')]);
    expect(server.requests).toHaveLength(2);
  });

  const lasting: [string, string, (body: JsonObject) => unknown, unknown][] = [
    ['no reasoning', 'Reasoning input items can only be provided to a reasoning model.', kindsOf, 3],
    ['no include', 'Encrypted content is not supported with this model.', (body) => body['include'], undefined],
    ['no sampling', "Unsupported parameter: 'temperature' is not supported.", (body) => body['temperature'], undefined],
    ['no cap', "Unknown parameter: 'max_output_tokens'.", (body) => body['max_output_tokens'], undefined],
    [
      'no strict',
      "Invalid schema for function 'read': …",
      (body) => JSON.stringify(body['tools']).includes('true'),
      false,
    ],
    [
      'no form',
      "Invalid parameter: 'text.format' of type 'json_schema' is not supported.",
      (body) => body['text'],
      undefined,
    ],
  ];
  it.each(lasting)('%s', async (_, words, read, expected) => {
    const { server, ask } = await start(
      ({ n }, response) => (n === 1 ? refuse(response, 400, words) : hello(response)),
      {
        traits: { outputWithTools: true },
      },
    );
    const request: Partial<ModelRequest> = {
      messages,
      parameters: { temperature: 0 },
      maxOutputTokens: 99,
      tools: [{ name: 'read', description: 'Reads.', parameters: { type: 'object', properties: {} }, strict: true }],
      output: { name: 'verdict', schema: { type: 'object' } },
    };
    await ask(request);
    await ask(request);
    expect(server.requests).toHaveLength(3);
    for (const body of server.requests.slice(1)) expect(read(body as JsonObject)).toEqual(expected);
  });

  it('a refusal that no other form of the request helps with is told', async () => {
    const { server, ask } = await start((_, response) => refuse(response, 404, 'Not Found'));
    expect(await failureOf(ask({ messages }))).toEqual(['bad_request', expect.stringContaining('404')]);
    expect(server.requests).toHaveLength(1);
  });
});

describe('no answer', () => {
  const events = eventsOf({ text: 'Hello there, you', reasoning: 'Hm.' }, 1);
  const response = (fields: object) => ({ id: 'resp_1', object: 'response', output: [], error: null, ...fields });
  const failed = (code: string, message: string) => [
    ...events.slice(0, 6),
    { type: 'response.failed', response: response({ status: 'failed', error: { code, message } }) },
  ];
  const cases: [string, Play, string, RegExp][] = [
    ['a failed response', (_, r) => stream(r, failed('server_error', 'Oops.')), 'transient', /Oops/],
    ['a rate limit inside', (_, r) => stream(r, failed('rate_limit_exceeded', 'Slow down.')), 'transient', /Slow/],
    ['an overflow inside', (_, r) => stream(r, failed('context_length_exceeded', 'Too long.')), 'overflow', /Too long/],
    ['a quota inside', (_, r) => stream(r, failed('insufficient_quota', 'Pay.')), 'quota', /Pay/],
    ['a filter inside', (_, r) => stream(r, failed('content_filter', 'No.')), 'content_filter', /No\./],
    ['a bad prompt inside', (_, r) => stream(r, failed('invalid_prompt', 'Hm.')), 'bad_request', /Hm/],
    [
      'an error event',
      (_, r) =>
        stream(r, [...events.slice(0, 4), { type: 'error', code: 'server_error', message: 'Gone.', param: null }]),
      'transient',
      /Gone/,
    ],
    [
      'an error event with an object in it',
      (_, r) => stream(r, [{ type: 'error', error: { type: 'invalid_request_error', code: null, message: 'Bad.' } }]),
      'bad_request',
      /Bad/,
    ],
    [
      'a failed response that says nothing',
      (_, r) => stream(r, [{ type: 'response.failed', response: response({ status: 'failed' }) }]),
      'transient',
      /does not say why/,
    ],
    [
      'a cancelled response',
      (_, r) => stream(r, [{ type: 'response.cancelled', response: response({ status: 'cancelled' }) }]),
      'transient',
      /cancelled/,
    ],
    ['a clean end without the last event', (_, r) => stream(r, events.slice(0, -1)), 'transient', /broke off/],
    [
      '[DONE] in its place',
      (_, r) => void r.end(events.slice(0, -1).map(sse).join('') + 'data: [DONE]\n\n'),
      'transient',
      /broke off/,
    ],
    [
      'a queued response as JSON',
      (_, r) => void r.end(JSON.stringify(response({ status: 'queued' }))),
      'transient',
      /broke off/,
    ],
    ['a chat completion', (_, r) => void r.end('{"choices":[{"message":{"content":"Hi"}}]}'), 'transient', /JSON/],
  ];
  it.each(cases)('%s', async (_, play, failureClass, words) => {
    const { ask } = await start(play);
    expect(await failureOf(ask())).toEqual([failureClass, expect.stringMatching(words)]);
  });
});

describe('an answer all the same', () => {
  const reply = {
    text: 'It is done, 🌍.',
    reasoning: 'Hm.',
    calls: [{ id: 'c', name: 'read', arguments: '{"n":1}' }],
    usage: { input: 3, output: 2 },
  };
  const read = (parts: readonly Uint8Array[]) =>
    readReply(streamOf(parts), {
      assembly: new ResponsesAssembly(),
      signal: base.signal,
      onEvent: () => undefined,
      lingerMs: 1000,
    });
  const bytes = (events: readonly object[]) => new TextEncoder().encode(events.map(sse).join(''));
  const whole = { text: reply.text, reasoning: 'Hm.', toolCalls: [{ id: 'c', name: 'read', arguments: '{"n":1}' }] };

  it('as one JSON document, from a server that does not stream', async () => {
    const document = { object: 'response', status: 'completed', output: itemsOf(reply, 1) };
    const { assembled } = await read([new TextEncoder().encode(JSON.stringify(document))]);
    expect(assembled).toMatchObject({ ...whole, isWhole: true });
  });

  const events = eventsOf(reply, 1);
  const last = events.at(-1) as { response: object };
  const without: [string, object[]][] = [
    ['an empty output at the end', [...events.slice(0, -1), { ...last, response: { ...last.response, output: [] } }]],
    [
      'no finished items, deltas alone',
      [
        ...events
          .slice(0, -1)
          .filter((event) => !('item' in event && String((event as { type?: string }).type).endsWith('.done'))),
        { ...last, response: { ...last.response, output: [] } },
      ],
    ],
    [
      'another id of each item in each event',
      [
        ...events.slice(0, -1).map((event, at) => ('item_id' in event ? { ...event, item_id: `id_${at}` } : event)),
        last,
      ],
    ],
    ['the last event alone', [last]],
  ];
  it.each(without)('with %s', async (_, sent) => {
    const { assembled } = await read([bytes(sent)]);
    expect(assembled).toMatchObject({ ...whole, isWhole: true, usage: { input: 3, output: 2 } });
  });

  it('the same from any split of the bytes, and none from any beginning', async () => {
    const body = bytes(events);
    const { assembled: expected } = await read([body]);
    for (const size of [1, 7, 64]) expect((await read(pieces(body, size))).assembled).toEqual(expected);
    const end = bytes(events.slice(0, -1)).length;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: end }), async (length) => {
        expect((await read([body.subarray(0, length)])).assembled.isWhole).toBe(false);
      }),
      { numRuns: 50 },
    );
  });

  it('counts every event, and tells texts apart', async () => {
    const two = [
      { type: 'response.output_item.added', output_index: 0, item: { type: 'message', content: [] } },
      { type: 'response.output_text.delta', output_index: 0, delta: 'One.' },
      { type: 'response.output_item.added', output_index: 1, item: { type: 'message', content: [] } },
      { type: 'response.output_text.delta', output_index: 1, delta: 'Two' },
      { type: 'response.output_text.delta', output_index: 1, delta: '.' },
      { type: 'response.completed', response: {} },
    ];
    const { ask } = await start((_, response) => stream(response, two));
    const deltas: StreamDelta[] = [];
    const { message } = await ask({ onEvent: (delta) => deltas.push(delta) });
    expect(deltas).toEqual([{}, { text: 'One.' }, {}, { text: '\n\nTwo' }, { text: '.' }, {}]);
    expect(message.text).toBe('One.\n\nTwo.');
  });
});

function kindsOf(body: JsonObject): unknown {
  return (body['input'] as unknown[]).length;
}
