/** The provider over HTTP: what it sends, and what it makes of servers that misbehave. */
import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openaiChat, type OpenAiChatOptions } from '../../src/models/openai-chat.js';
import { postRequest } from '../../src/models/post-request.js';
import { ModelFailure, type ModelRequest, type StreamDelta } from '../../src/models/provider.js';
import { readReply } from '../../src/models/read-reply.js';
import { MAX_ANSWER_BYTES } from '../../src/models/reply-budget.js';
import { type Play, serve, type Served, streamOf } from './recorded.js';

const served: Served[] = [];
afterEach(async () => {
  await Promise.all(served.splice(0).map((server) => server.close()));
});

async function start(play: Play): Promise<Served> {
  const server = await serve(play);
  served.push(server);
  return server;
}

const KEY = 'key-0123456789-abcdef';
const base: ModelRequest = {
  model: 'some-model',
  instructions: 'Be brief.',
  messages: [{ role: 'user', kind: 'task', text: 'Do it.' }],
  tools: [],
  toolChoice: 'auto',
  signal: new AbortController().signal,
  onEvent: () => undefined,
};
const ask = (server: Served, request: Partial<ModelRequest> = {}, options: OpenAiChatOptions = {}) =>
  openaiChat({ baseUrl: server.baseUrl, apiKey: KEY, ...options }).answer({ ...base, ...request });

async function failure(asked: Promise<unknown>): Promise<ModelFailure> {
  const error: unknown = await asked.then(
    () => new Error('it was an answer'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof ModelFailure)) throw error;
  return error;
}

const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const text = (content: string, finish: string | null = null) =>
  event({ choices: [{ index: 0, delta: { content }, finish_reason: finish }] });
const sse = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' });
const hello = (response: ServerResponse) => sse(response).end(text('hello') + text('', 'stop') + 'data: [DONE]\n\n');

describe('the request', () => {
  it('is one POST, streaming, with key, organization and headers', async () => {
    const server = await start((_, response) => hello(response));
    const answer = await ask(server, { maxOutputTokens: 7 }, { organization: 'org-1', headers: { 'x-own': 'yes' } });
    expect(answer).toEqual({ message: { role: 'assistant', text: 'hello' }, usage: null, finish: 'end' });
    expect(server.requests).toEqual([
      {
        model: 'some-model',
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'Do it.' },
        ],
        stream: true,
        stream_options: { include_usage: true },
        max_tokens: 7,
      },
    ]);
    expect(server.headers[0]).toMatchObject({
      authorization: `Bearer ${KEY}`,
      'openai-organization': 'org-1',
      'x-own': 'yes',
      'x-stainless-retry-count': '0',
    });
  });

  it('reads key and base URL from the environment when it is made', async () => {
    const server = await start((_, response) => hello(response));
    const provider = openaiChat({ apiKeyEnv: 'EVERLAP_TEST_KEY' });
    const before = process.env['OPENAI_BASE_URL'];
    try {
      process.env['OPENAI_BASE_URL'] = `${server.baseUrl}/`;
      process.env['EVERLAP_TEST_KEY'] = ' from-env\n';
      await provider.answer(base);
      delete process.env['EVERLAP_TEST_KEY'];
      await provider.answer(base);
    } finally {
      if (before === undefined) delete process.env['OPENAI_BASE_URL'];
      else process.env['OPENAI_BASE_URL'] = before;
    }
    expect(server.headers.map(({ authorization }) => authorization)).toEqual(['Bearer from-env', undefined]);
  });

  it('is not made without a key for OpenAI itself', async () => {
    const { failureClass, message } = await failure(
      openaiChat({ baseUrl: 'https://api.openai.com/v1', apiKeyEnv: 'EVERLAP_NO_KEY' }).answer(base),
    );
    expect(failureClass).toBe('auth');
    expect(message).toContain('set EVERLAP_NO_KEY');
  });

  it.each([
    ['auth', { apiKey: 'a\u2026b', baseUrl: 'http://127.0.0.1:9' }],
    ['bad_request', { apiKey: 'a', baseUrl: 'api.example.org/v1' }],
  ])('is not made where it cannot be: %s', async (failureClass, options) => {
    expect((await failure(openaiChat(options).answer(base))).failureClass).toBe(failureClass);
  });
});

describe('no answer', () => {
  const cases: [string, Play, string, RegExp][] = [
    ['a cut stream', (_, r) => sse(r).write(text('hel'), () => r.destroy()), 'transient', /broke off in the middle/],
    ['a clean end without finish reason and [DONE]', (_, r) => sse(r).end(text('hel')), 'transient', /broke off/],
    ['HTML with 200', (_, r) => r.end('<html><title>Welcome</title></html>'), 'transient', /HTML page, "Welcome"/],
    ['JSON without choices', (_, r) => r.end('{"ok":true}'), 'transient', /JSON that is no completion.*ok/],
    ['cut JSON', (_, r) => r.end('{"choices":[{"message":{"content":"hel'), 'transient', /JSON that is no completion/],
    ['plain text', (_, r) => r.end('hello'), 'transient', /no completion: hello/],
    ['an empty body', (_, r) => r.end(), 'transient', /empty body/],
    ['204', (_, r) => r.writeHead(204).end(), 'transient', /empty body/],
    ['[DONE] alone', (_, r) => sse(r).end('data: [DONE]\n\n'), 'transient', /without a single choice/],
    ['comments alone', (_, r) => sse(r).end(': hi\n\n: hi\n\n'), 'transient', /without a single choice/],
    [
      'an event that is nested so deeply that no stack bears it',
      (_, r) => sse(r).end(`data: {"choices":[{"delta":{"x":${'['.repeat(200_000)}${']'.repeat(200_000)}}}]}\n\n`),
      'transient',
      /no JSON/,
    ],
    [
      'an event that is no JSON',
      (_, r) => sse(r).end(`${text('a')}data: {"choi\n\n${text('b')}`),
      'transient',
      /no JSON/,
    ],
    [
      'an error with 200 as JSON',
      (_, r) => r.end('{"error":{"message":"x","type":"invalid_request_error"}}'),
      'bad_request',
      /x/,
    ],
    [
      'an error event of plain text',
      (_, r) => sse(r).end(`${text('a')}event: error\ndata: boom\n\n`),
      'transient',
      /boom/,
    ],
    [
      'an error after the finish reason',
      (_, r) => sse(r).end(text('a', 'stop') + event({ error: { code: 502, message: 'x' } })),
      'transient',
      /502/,
    ],
    ['finish reason error', (_, r) => sse(r).end(text('a', 'error')), 'transient', /"error"/],
    [
      'finish reason content_filter',
      (_, r) => sse(r).end(text('a', 'content_filter')),
      'content_filter',
      /content filter/,
    ],
    ['a connection that closes at once', (_, r) => r.destroy(), 'transient', /connection failed/],
    [
      'a status that no Response can have',
      (_, r) => r.writeHead(999).end('{"detail":"go away"}'),
      'transient',
      /go away/,
    ],
    [
      'an unreadable status line body',
      (_, r) => r.writeHead(400).write('{"deta', () => r.destroy()),
      'bad_request',
      /deta/,
    ],
  ];
  it.each(cases)('%s', async (_, play, failureClass, words) => {
    const server = await start(play);
    const failed = await failure(ask(server));
    expect(failed).toMatchObject({ failureClass, message: expect.stringMatching(words) as string });
    expect(failed.message).toContain('some-model');
    expect(server.requests).toHaveLength(1);
  });

  it('a server that is not there', async () => {
    const server = await start(() => undefined);
    await server.close();
    const { failureClass, message } = await failure(ask(server));
    expect([failureClass, message]).toEqual(['transient', expect.stringContaining('ECONNREFUSED')]);
  });

  it('tells status and wait', async () => {
    const server = await start((_, r) => r.writeHead(429, { 'retry-after': '2' }).end('{}'));
    expect((await failure(ask(server))).details).toEqual({ status: 429, retryAfterMs: 2000 });
  });

  it('never tells the key', async () => {
    const server = await start((_, r) => r.writeHead(401).end(`{"detail":"${KEY} and secret-header"}`));
    const { message } = await failure(ask(server, {}, { headers: { 'x-auth': 'secret-header' } }));
    expect(message).not.toContain(KEY);
    expect(message).not.toContain('secret-header');
  });

  it('reads only the beginning of a huge error body', async () => {
    let wrote = 0;
    const server = await start((_, response) => {
      response.writeHead(500);
      const block = 'x'.repeat(65_536);
      const more = () => {
        while (!response.destroyed && wrote < 100_000_000) {
          wrote += block.length;
          if (!response.write(block)) return void response.once('drain', more);
        }
        response.end();
      };
      more();
    });
    expect((await failure(ask(server))).message.length).toBeLessThanOrEqual(2000);
    expect(wrote).toBeLessThan(20_000_000);
  });
});

describe('an answer all the same', () => {
  it('as plain JSON, from a server that does not stream', async () => {
    const body = {
      choices: [{ message: { role: 'assistant', content: 'hi', refusal: null } }],
      usage: { prompt_tokens: 1, completion_tokens: 2 },
    };
    const server = await start((_, r) => r.end(JSON.stringify(body)));
    const deltas: StreamDelta[] = [];
    const answer = await ask(server, { onEvent: (delta) => deltas.push(delta) });
    expect(answer).toEqual({
      message: { role: 'assistant', text: 'hi' },
      usage: { input: 1, output: 2 },
      finish: 'end',
    });
    expect(deltas).toEqual([{ text: 'hi' }]);
  });

  it('where the connection breaks after the finish reason', async () => {
    const server = await start((_, r) => sse(r).write(text('hi', 'stop'), () => r.destroy()));
    expect((await ask(server)).message.text).toBe('hi');
  });

  it('where the empty lines between events are missing', async () => {
    const server = await start((_, r) =>
      sse(r).end((text('a') + text('b', 'stop')).replaceAll('\n\n', '\n') + 'data: [DONE]\n'),
    );
    expect((await ask(server)).message.text).toBe('ab');
  });

  it('where the server stays silent after the finish reason', async () => {
    const bytes = new TextEncoder().encode(text('hi', 'stop'));
    const body = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(bytes) });
    const { assembled } = await readReply(body, { signal: base.signal, onEvent: () => undefined, lingerMs: 20 });
    expect(assembled).toMatchObject({ text: 'hi', isWhole: true });
  });

  it('counts events, not comments and pings', async () => {
    const deltas: StreamDelta[] = [];
    const server = await start((_, r) =>
      sse(r).end(
        `: x\n\nevent: ping\ndata: {"type":"ping"}\n\n${text('a')}: y\n\n${event({ choices: [] })}${text('', 'stop')}`,
      ),
    );
    await ask(server, { onEvent: (delta) => deltas.push(delta) });
    expect(deltas).toEqual([{ text: 'a' }, {}, {}]);
  });

  it('cut off, where it is too large', async () => {
    const server = await start((_, response) => {
      sse(response);
      for (let i = 0; i < 30; i += 1) response.write(text('é'.repeat(50_000)));
      response.end(text('', 'stop'));
    });
    const { message, finish } = await ask(server);
    expect(finish).toBe('length');
    expect(Buffer.byteLength(message.text)).toBe(MAX_ANSWER_BYTES);
  });

  it('at finish length, with a call', async () => {
    const tool_calls = [{ index: 0, id: 'a', function: { name: 'f', arguments: '{"x' } }];
    const server = await start((_, r) =>
      sse(r).end(event({ choices: [{ delta: { tool_calls }, finish_reason: 'length' }] })),
    );
    expect(await ask(server)).toMatchObject({ finish: 'length', message: { toolCalls: [{ arguments: '{"x' }] } });
  });
});

describe('abort', () => {
  const reason = new Error('the reason');

  it.each<[string, Play]>([
    ['before the headers', () => undefined],
    ['in the stream', (_, r) => sse(r).write(text('hel'))],
    ['after the finish reason', (_, r) => sse(r).write(text('hello', 'stop'))],
    ['in an error body', (_, r) => r.writeHead(500).write('x')],
  ])('%s', async (_, play) => {
    const controller = new AbortController();
    let closed: Promise<unknown> = Promise.resolve();
    const server = await start((request, response) => {
      closed = new Promise((done) => response.once('close', done));
      play(request, response);
      setTimeout(() => controller.abort(reason), 20);
    });
    await expect(ask(server, { signal: controller.signal })).rejects.toBe(reason);
    await closed;
  });

  it('before the request: none is made', async () => {
    const server = await start((_, r) => hello(r));
    await expect(ask(server, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(server.requests).toHaveLength(0);
  });

  it('also where the transport does not heed the signal', async () => {
    const controller = new AbortController();
    const never = new ReadableStream<Uint8Array>({ start: (c) => c.enqueue(new TextEncoder().encode(text('a'))) });
    const deaf: typeof fetch = () => Promise.resolve(new Response(never));
    const asked = openaiChat({ baseUrl: 'http://127.0.0.1:9', fetch: deaf }).answer({
      ...base,
      signal: controller.signal,
      onEvent: () => controller.abort(reason),
    });
    await expect(asked).rejects.toBe(reason);
  });

  it('hands on what onEvent throws', async () => {
    const server = await start((_, r) => hello(r));
    const onEvent = () => {
      throw reason;
    };
    await expect(ask(server, { onEvent })).rejects.toBe(reason);
  });
});

describe('what it learns', () => {
  const refuse = (response: ServerResponse, message: string) =>
    response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message } }));
  const Body = z.record(z.string(), z.unknown());

  it('is dropped, remembered, and asked again at once', async () => {
    const server = await start(({ body }, response) => {
      const sent = Body.parse(body);
      if ('stream_options' in sent) return void refuse(response, "Unknown parameter: 'stream_options'.");
      if ('max_tokens' in sent)
        return void refuse(response, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.");
      hello(response);
    });
    const provider = openaiChat({ baseUrl: server.baseUrl });
    await provider.answer({ ...base, maxOutputTokens: 7 });
    expect(server.requests).toHaveLength(3);
    await provider.answer({ ...base, maxOutputTokens: 7 });
    expect(server.requests).toHaveLength(4);
    expect(server.requests[3]).toMatchObject({ max_completion_tokens: 7 });
    // Another model may be of another kind.
    await provider.answer({ ...base, model: 'other' });
    expect(server.requests).toHaveLength(6);
  });

  it('ends where the server refuses everything', async () => {
    const server = await start((_, r) =>
      refuse(r, "Unknown parameter: 'temperature', 'stream_options', 'max_tokens', 'top_p'"),
    );
    const parameters = { temperature: 1, top_p: 1, max_tokens: 5 };
    expect((await failure(ask(server, { parameters }))).failureClass).toBe('bad_request');
    expect(server.requests.length).toBeLessThan(9);
  });
});

it('reads an error body that never ends no longer than the signal lasts', async () => {
  const controller = new AbortController();
  const server = await start((_, r) => void r.writeHead(500).write('x', () => controller.abort(new Error('enough'))));
  const target = {
    baseUrl: server.baseUrl,
    headers: {},
    context: { model: 'm', server: 's', keySource: 'K', secrets: [] },
  };
  await expect(postRequest(target, '/chat/completions', {}, controller.signal)).rejects.toThrow('enough');
});

it('reads no document without end', async () => {
  const block = new TextEncoder().encode('{"x":"' + 'x'.repeat(1_000_000));
  const endless = function* () {
    for (let i = 0; i < 1000; i += 1) yield block;
  };
  for (const start of ['', 'data: ']) {
    const parts = [new TextEncoder().encode(start), ...endless()].filter((part) => part.length > 0);
    const { fault } = await readReply(streamOf(parts), { signal: base.signal, onEvent: () => undefined, lingerMs: 1 });
    expect(String(fault)).toContain('more than');
  }
});
