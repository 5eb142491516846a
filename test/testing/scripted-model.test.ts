/** The scripted model over real HTTP: what it sends, what it records, what it refuses. */
import { ServerResponse } from 'node:http';
import OpenAI from 'openai';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  answer,
  call,
  calls,
  cleanEnd,
  cut,
  emptyBody,
  fallSilent,
  gate,
  hangUp,
  html,
  httpError,
  inStreamError,
  raw,
  silence,
  startScriptedModel,
  text,
  textOf,
  type ScriptedModel,
  type ScriptedModelOptions,
} from '../../src/testing/index.js';
import { ask, dataOf, deltas, drain, finishes, go, usages } from './client.js';

const started: ScriptedModel[] = [];
async function start(options: ScriptedModelOptions): Promise<ScriptedModel> {
  const model = await startScriptedModel(options);
  started.push(model);
  return model;
}
afterEach(async () => {
  await Promise.all(started.splice(0).map((model) => model.close({ verify: false })));
});

const client = (model: ScriptedModel): OpenAI =>
  new OpenAI({ apiKey: 'scripted', baseURL: model.baseUrl, maxRetries: 0 });
const request = { model: 'm', messages: [{ role: 'user' as const, content: 'Go.' }] };
const streamed = async (model: ScriptedModel): Promise<string> => (await ask(model)).text();

describe('answers, read by the openai client', () => {
  it('a text as one object', async () => {
    const model = await start({ script: [text('Hello 🌍.')] });
    const reply = await client(model).chat.completions.create(request);
    expect(reply.choices[0]).toMatchObject({
      message: { role: 'assistant', content: 'Hello 🌍.' },
      finish_reason: 'stop',
    });
    expect(reply).toMatchObject({ model: 'm', system_fingerprint: 'scripted' });
    expect(reply.usage?.total_tokens).toBe((reply.usage?.prompt_tokens ?? 0) + 3);
    await model.close();
  });

  it('a text, reasoning, and calls as a stream', async () => {
    const args = { path: 'a.txt', note: 'a longer argument, which takes several pieces 😀' };
    const model = await start({
      script: [
        calls(
          [
            { name: 'read_file', arguments: args },
            { name: 'now', arguments: '' },
          ],
          { text: 'Looking.', reasoning: 'Hm.' },
        ),
        call('late', { a: 1 }, { id: 'mine', text: 'Then.' }),
      ],
    });
    for (const interleave of [0, 1]) {
      const final = await client(model)
        .chat.completions.stream({ ...request, stream_options: { include_usage: true } })
        .finalChatCompletion();
      const message = final.choices[0]?.message;
      expect(final.choices[0]?.finish_reason).toBe('tool_calls');
      expect(final.usage?.completion_tokens).toBeGreaterThan(0);
      if (interleave === 0) {
        expect(message).toMatchObject({ content: 'Looking.' });
        expect(message?.tool_calls).toMatchObject([
          { id: 'call_0_0', type: 'function', function: { name: 'read_file', arguments: JSON.stringify(args) } },
          { id: 'call_0_1', type: 'function', function: { name: 'now', arguments: '' } },
        ]);
      } else {
        expect(message?.tool_calls).toMatchObject([{ id: 'mine', function: { name: 'late', arguments: '{"a":1}' } }]);
      }
    }
    await model.close();
  });

  it('interleaved calls', async () => {
    const list = ['x', 'y'].map((name) => ({ name, arguments: { value: name.repeat(40) } }));
    const model = await start({ script: [calls(list, { interleave: true, pieceChars: 5 })] });
    const final = await client(model).chat.completions.stream(request).finalChatCompletion();
    expect(
      final.choices[0]?.message.tool_calls?.map((one) => one.type === 'function' && one.function.arguments),
    ).toEqual(list.map((one) => JSON.stringify(one.arguments)));
  });

  it('the list of models, and that they are scripted', async () => {
    const model = await start({ models: ['one', 'two'] });
    const { data, response } = await client(model).models.list().withResponse();
    expect(data.data.map((one) => [one.id, one.owned_by])).toEqual([
      ['one', 'everlap-scripted'],
      ['two', 'everlap-scripted'],
    ]);
    expect(response.headers.get('x-everlap-scripted')).toBe('1');
    await model.close();
  });
});

describe('odd answers', () => {
  it('a finish reason that does not fit, or none', async () => {
    const model = await start({
      script: [call('a', {}, { finish: 'stop' }), text('x', { finish: 'length' }), text('x', { finish: null })],
    });
    expect(finishes(await streamed(model)).at(-1)).toBe('stop');
    expect(finishes(await streamed(model)).at(-1)).toBe('length');
    const none = await streamed(model);
    expect(finishes(none).every((finish) => finish === null)).toBe(true);
    expect(dataOf(none).at(-1)).toBe('[DONE]');
  });

  it('ids and indices that are empty or missing', async () => {
    const odd = { name: 'a', arguments: '{"x":' };
    const model = await start({
      script: [call('a', '{"x":', { id: '', index: 1 }), calls([{ ...odd, id: null, index: null }])],
    });
    expect(deltas(await streamed(model))[1]).toEqual({
      tool_calls: [{ index: 1, id: '', type: 'function', function: { name: 'a', arguments: '' } }],
    });
    expect(deltas(await streamed(model))[1]).toEqual({
      tool_calls: [{ type: 'function', function: { name: 'a', arguments: '{"x":' } }],
    });
  });

  it('usage as asked, given, null or absent', async () => {
    const usage = { prompt_tokens: 7, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 3 } };
    const model = await start({
      script: [text('x'), text('x'), text('x', { usage }), text('x', { usage: null }), text('x', { usage: 'absent' })],
    });
    const told: unknown[] = [];
    for (const asked of [false, true, false, true, true])
      told.push(usages(await (await ask(model, { usage: asked })).text())[0]);
    const [unasked, estimated, ...rest] = told;
    expect(unasked).toBeUndefined();
    expect(estimated).toMatchObject({
      prompt_tokens: Math.ceil((model.requests[1]?.bodyChars ?? 0) / 4),
      completion_tokens: 1,
    });
    expect(rest).toEqual([{ ...usage, total_tokens: 12 }, null, undefined]);
  });

  it('pieces as the script has cut them, extra fields, and nothing at all', async () => {
    const model = await start({
      script: [text(['a\ud83d', '\ude00b'], { extra: { reasoning_details: [{ signature: 's' }] } }), answer()],
    });
    const [first, ...rest] = deltas(await streamed(model));
    expect(first).toEqual({ role: 'assistant', content: '', reasoning_details: [{ signature: 's' }] });
    expect(rest.slice(0, 2)).toEqual([{ content: 'a\ud83d' }, { content: '\ude00b' }]);
    expect(deltas(await streamed(model))).toEqual([{ role: 'assistant', content: null }, {}]);
  });
});

describe('trouble', () => {
  it('HTTP errors with headers and bodies', async () => {
    const model = await start({
      script: [
        httpError(429, { message: 'Slow down.', code: 'rate_limit_exceeded', headers: { 'retry-after': '2' } }),
        httpError(400, { body: { object: 'error', message: 'too long' } }),
        httpError(502, { body: '<html>', headers: { 'content-type': 'text/html' } }),
      ],
    });
    const limited = await client(model)
      .chat.completions.create(request)
      .catch((error: unknown) => error);
    expect(limited).toBeInstanceOf(OpenAI.RateLimitError);
    expect(limited).toMatchObject({ code: 'rate_limit_exceeded', message: '429 Slow down.' });
    const bad = await ask(model);
    expect([bad.status, await bad.text()]).toEqual([400, '{"object":"error","message":"too long"}']);
    const page = await ask(model);
    expect([page.status, page.headers.get('content-type'), await page.text()]).toEqual([502, 'text/html', '<html>']);
    await model.close();
  });

  it('an error in the stream, a cut, half a line, a clean end', async () => {
    const words = text('one two three', { pieceChars: 4 });
    const model = await start({
      script: [
        inStreamError(words, { message: 'Overloaded.' }, { afterChunks: 2 }),
        inStreamError(words, { message: 'Overloaded.' }, { named: true }),
        cut(words, { afterChunks: 3 }),
        cut(words, { afterChunks: 3, midLine: true }),
        cleanEnd(words),
        cut(words, { afterChunks: 6 }),
      ],
    });
    const replies: Awaited<ReturnType<typeof drain>>[] = [];
    for (let at = 0; at < 6; at++) replies.push(await drain(await ask(model)));
    const [early, named, broken, half, clean, last] = replies;
    expect(early).toMatchObject({ whole: true });
    expect(dataOf(early?.body ?? '').slice(2)).toEqual(['{"error":{"message":"Overloaded."}}']);
    expect(named?.body).toMatch(/event: error\ndata: \{"error":\{"message":"Overloaded\."\}\}\n\n$/);
    expect(broken).toMatchObject({ whole: false });
    expect(dataOf(broken?.body ?? '')).toHaveLength(3);
    expect(broken?.body).toMatch(/\n\n$/);
    expect(half).toMatchObject({ whole: false });
    expect(half?.body.length).toBeGreaterThan(broken?.body.length ?? 0);
    expect(half?.body).not.toMatch(/\n$/);
    expect(clean).toMatchObject({ whole: true });
    expect(clean?.body).not.toContain('[DONE]');
    expect(finishes(clean?.body ?? '').every((finish) => finish === null)).toBe(true);
    // The finish reason was sent, so this one counts as whole for a careful client, cut or not.
    expect(finishes(last?.body ?? '').at(-1)).toBe('stop');
    await Promise.all([0, 1, 2, 3, 4, 5].map((index) => model.waitForClosed(index)));
    expect(model.requests.map((one) => one.closed)).toEqual(['whole', 'whole', 'cut', 'cut', 'whole', 'cut']);
  });

  it('the same endings for a request without stream', async () => {
    const model = await start({
      script: [inStreamError(text('x'), { message: 'No.' }), cut(text('x')), cleanEnd(text('x'))],
    });
    expect(await (await ask(model, { stream: false })).json()).toEqual({ error: { message: 'No.' } });
    expect(await drain(await ask(model, { stream: false }))).toMatchObject({ whole: false });
    const half = await drain(await ask(model, { stream: false }));
    expect(half.whole).toBe(true);
    expect(() => JSON.parse(half.body)).toThrow();
  });

  it('a page, nothing, a hang-up', async () => {
    const model = await start({ script: [html(), emptyBody(), hangUp()] });
    const page = await ask(model);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(await page.text()).toContain('<html>');
    const nothing = await ask(model);
    expect([nothing.status, await nothing.text()]).toEqual([200, '']);
    await expect(ask(model)).rejects.toThrow();
    expect((await model.waitForClosed(2)).closed).toBe('cut');
    await model.close();
  });

  it.each([
    ['after headers', silence()],
    ['with comments', silence({ commentsEveryMs: 1 })],
    ['after some chunks', fallSilent(text('x'), { afterChunks: 1 })],
    ['in a raw body', raw('data: {}\n\n', { then: 'silence' })],
  ])('silence %s, until the client goes', async (_name, step) => {
    const model = await start({ script: [step] });
    const leave = new AbortController();
    const response = await ask(model, { signal: leave.signal });
    const reader = response.body?.getReader();
    if (_name !== 'after headers') expect((await reader?.read())?.done).toBe(false);
    expect(model.requests[0]?.closed).toBeNull();
    leave.abort();
    expect((await model.waitForClosed(0)).closed).toBe('by client');
    await model.close();
  });

  it('silence without even headers', async () => {
    const model = await start({ script: [silence({ headers: false })] });
    const leave = new AbortController();
    const response = ask(model, { signal: leave.signal });
    await model.waitForRequest(0);
    leave.abort();
    await expect(response).rejects.toThrow();
    expect((await model.waitForClosed(0)).closed).toBe('by client');
    await model.close();
  });

  it('close() ends what is silent, and whoever waits', async () => {
    const model = await start({ script: [silence()] });
    const response = await ask(model);
    const never = model.waitForRequest(5);
    await model.close();
    await expect(never).rejects.toThrow(/closed before/);
    expect(await drain(response)).toMatchObject({ whole: false });
    expect(model.requests[0]?.closed).toBe('cut');
    await expect(model.waitForRequest(6)).rejects.toThrow(/closed before/);
    await model.close();
  });
});

describe('pieces and gates', () => {
  it('any number of bytes per write, with the same bytes in the end', async () => {
    const words = text('Grüße 😀, in pieces.', { usage: 'absent' });
    const model = await start({
      script: [words, { ...words, bytesPerWrite: 1 }, { ...words, bytesPerWrite: 7, writeDelayMs: 1 }],
    });
    // How they arrive is for the network to say, which puts pieces together.
    const writes = vi.spyOn(ServerResponse.prototype, 'write');
    onTestFinished(() => writes.mockRestore());
    const asked = async (): Promise<{ body: string; writes: number }> => {
      writes.mockClear();
      const { body } = await drain(await ask(model));
      return { body, writes: writes.mock.calls.length };
    };
    const [whole, ones, sevens] = [await asked(), await asked(), await asked()];
    const neutral = (body: string): string => body.replaceAll(/scripted-\d/g, 'scripted');
    expect(neutral(ones.body)).toBe(neutral(whole.body));
    expect(neutral(sevens.body)).toBe(neutral(whole.body));
    expect(ones.writes).toBe(Buffer.byteLength(ones.body));
    expect(sevens.writes).toBeGreaterThan(whole.writes);
  });

  it('a gate before the headers, and one between chunks', async () => {
    const [before, between] = [gate(), gate()];
    const model = await start({
      script: [
        text('abcdef', {
          pieceChars: 3,
          waitFor: before,
          holdAfter: { chunks: 2, until: between },
          delayMs: 1,
          chunkDelayMs: 1,
        }),
      ],
    });
    let answered = false;
    const response = ask(model).finally(() => (answered = true));
    await before.reached;
    expect(answered).toBe(false);
    before.open();
    const reader = (await response).body?.getReader();
    await between.reached;
    let seen = '';
    while (dataOf(seen).length < 2) seen += Buffer.from((await reader?.read())?.value ?? []).toString();
    expect(deltas(seen)).toEqual([{ role: 'assistant', content: '' }, { content: 'abc' }]);
    between.open();
    while (!seen.includes('[DONE]')) seen += Buffer.from((await reader?.read())?.value ?? []).toString();
    expect(deltas(seen)[2]).toEqual({ content: 'def' });
    await model.close();
  });

  it('a client that leaves at a gate is noticed there', async () => {
    const closed = gate();
    const model = await start({
      script: [text('x', { waitFor: closed }), text('y', { waitFor: () => Promise.resolve() })],
    });
    const leave = new AbortController();
    const response = ask(model, { signal: leave.signal });
    await closed.reached;
    leave.abort();
    await expect(response).rejects.toThrow();
    expect((await model.waitForClosed(0)).closed).toBe('by client');
    expect(await streamed(model)).toContain('"y"');
    await model.close();
  });
});

describe('scripts', () => {
  it('a function of the request', async () => {
    const model = await start({
      script: (asked, turn) => text(`${turn}: ${textOf(asked.messages.at(-1))}`, { pieceChars: 99 }),
    });
    expect(await streamed(model)).toContain('"0: Go."');
    expect(await streamed(model)).toContain('"1: Go."');
    expect(model.stepsLeft).toBe(0);
    await model.close();
  });

  it('one for each task, played on its own', async () => {
    const model = await start({
      byTask: { 'task 1': [text('one'), text('one again')], 'task 11': [text('eleven')], other: () => text('any') },
      script: [text('fallback')],
    });
    const said = async (task: string): Promise<string> => {
      return deltas(await (await ask(model, { messages: [{ role: 'user', content: task }] })).text())
        .map((delta) => delta.content ?? '')
        .join('');
    };
    expect(model.stepsLeft).toBe(4);
    expect(await said('task 1')).toBe('one');
    expect(await said('Lap 2 of task 11.')).toBe('eleven');
    expect(await said('task 1')).toBe('one again');
    expect(await said('an other one')).toBe('any');
    expect(await said('x')).toBe('fallback');
    expect(model.requests.map(({ task, turn }) => [task, turn])).toEqual([
      ['task 1', 0],
      ['task 11', 0],
      ['task 1', 1],
      ['other', 0],
      [null, 0],
    ]);
    expect(model.stepsLeft).toBe(0);
    await model.close();
  });
});

describe('what is recorded and refused', () => {
  it('requests with body and headers, as many bodies as asked for', async () => {
    const model = await start({ script: () => text('x'), keepBodies: 1 });
    const second = model.waitForRequest(1);
    await streamed(model);
    expect(model.requests[0]?.body).toMatchObject({ model: 'm', messages: go, stream: true });
    expect(model.requests[0]?.headers['authorization']).toBe('Bearer scripted');
    await streamed(model);
    expect((await second).index).toBe(1);
    expect(() => model.requests[0]?.body).toThrow(/keepBodies/);
    expect(model.requests[1]?.messages).toEqual(go);
  });

  it('a request past the end', async () => {
    const model = await start({ script: [text('x')] });
    await streamed(model);
    const response = await ask(model);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { message: expect.stringMatching(/Request 1 was not expected.*1 step/) },
    });
    expect(() => model.verify()).toThrow(/Request 1/);
    await expect(model.close()).rejects.toThrow(/should not have been:\n- Request 1/);
    await expect(model.close()).rejects.toThrow(/Request 1/);
    await expect(model.close({ verify: false })).resolves.toBeUndefined();
  });

  it.each<[string, ScriptedModelOptions, RegExp]>([
    ['no script at all', {}, /no script is for the task "Go\."/],
    ['a task without script', { byTask: { x: [] } }, /no script is for the task/],
    ['a function without answer', { script: () => undefined }, /no answer for it/],
    ['a function that throws', { script: () => Promise.reject(new Error('Oops')) }, /Oops/],
  ])('%s', async (_name, options, sentence) => {
    const model = await start(options);
    expect((await ask(model)).status).toBe(400);
    expect(model.unexpected).toEqual([expect.stringMatching(sentence)]);
    expect(model.requests[0]?.refused).toMatch(sentence);
  });

  it('a step that cannot be played', async () => {
    const model = await start({ script: [text('x', { waitFor: () => Promise.reject(new Error('Oops')) })] });
    expect((await ask(model)).status).toBe(400);
    expect(model.unexpected).toEqual([expect.stringMatching(/could not be played.*Oops/)]);
  });

  it.each([
    ['GET', '/v1/chat/completions', undefined, 404],
    ['POST', '/v1/responses', '{}', 404],
    ['POST', '/v1/chat/completions', 'no json', 400],
    ['POST', '/v1/chat/completions', '{"messages":[]}', 400],
    ['POST', '/v1/chat/completions', '[]', 400],
  ])('%s %s %s', async (method, path, body, status) => {
    const model = await start({ script: () => text('x') });
    const response = await fetch(model.url + path, { method, ...(body && { body }) });
    expect(response.status).toBe(status);
    expect(response.headers.get('x-everlap-scripted')).toBe('1');
    expect([...model.unexpected, ...model.complaints]).toHaveLength(1);
    expect(() => model.verify()).toThrow();
  });

  it('what a strict provider refuses, without taking a step', async () => {
    const model = await start({ script: [text('x')] });
    const messages = [...go, { role: 'tool', tool_call_id: 'a', content: 'x' }];
    const refused = await ask(model, { messages });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { message: expect.stringMatching(/messages\[1\]/) } });
    expect(model.complaints).toEqual([expect.stringMatching(/^Request 0: messages\[1\]/)]);
    expect((await ask(model)).status).toBe(200);
    await expect(model.close()).rejects.toThrow(/messages\[1\]/);
  });

  it('not so without strict', async () => {
    const model = await start({ script: [text('x')], strict: false });
    expect((await ask(model, { messages: [...go, { role: 'tool', tool_call_id: 'a', content: 'x' }] })).status).toBe(
      200,
    );
    await model.close();
  });
});
