/** What only models of the AI SDK have: blocks with metadata, errors of many classes, warnings, choices of models. */
import type { LanguageModelV3, LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/conversation/json.js';
import type { Message } from '../../src/conversation/message.js';
import { aiSdk, type AiSdkModel } from '../../src/models/ai-sdk.js';
import { ModelFailure, type ModelRequest, type StreamDelta } from '../../src/models/provider.js';
import { aiModel, CallError, streamOfParts } from './ai-sdk-model.js';

/** The shape that is used is theirs, of both versions. */
export type Fits = [LanguageModelV3, LanguageModelV4] extends [AiSdkModel, AiSdkModel] ? true : never;
const fits: Fits = true;
expect(fits).toBe(true);

const task: Message = { role: 'user', kind: 'task', text: 'Do it.' };
const base: ModelRequest = {
  model: 'm',
  instructions: '',
  messages: [task],
  tools: [],
  toolChoice: 'auto',
  signal: new AbortController().signal,
  onEvent: () => undefined,
};
const finish = (
  unified: 'stop' | 'length' | 'tool-calls' | 'error' | 'interrupted' | 'other' = 'stop',
  raw: string | undefined = unified,
): LanguageModelV4StreamPart => ({
  type: 'finish',
  finishReason: { unified, raw },
  usage: {
    inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: undefined, text: undefined, reasoning: undefined },
  },
});
const textParts = (text: string, id = '0'): LanguageModelV4StreamPart[] => [
  { type: 'text-start', id },
  { type: 'text-delta', id, delta: text },
  { type: 'text-end', id },
];
const playing = (...parts: LanguageModelV4StreamPart[]) => aiModel('m', () => streamOfParts(parts));
const throwing = (error: unknown) =>
  aiModel('m', () => {
    throw error;
  });
const failureOf = (asked: Promise<unknown>) =>
  asked.then(
    () => 'an answer',
    (error: unknown) => (error instanceof ModelFailure ? [error.failureClass, error.message] : error),
  );

describe('blocks', () => {
  const signature = (value: string) => ({ providerMetadata: { anthropic: { signature: value } } });

  it('go back in their order, each with its own metadata', async () => {
    const model = playing(
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'First.' },
      { type: 'reasoning-delta', id: '0', delta: '', ...signature('s1') },
      { type: 'reasoning-end', id: '0' },
      { type: 'reasoning-start', id: '1', providerMetadata: { anthropic: { redactedData: 'xyz' } } },
      { type: 'reasoning-end', id: '1' },
      ...textParts('I look.', '2'),
      { type: 'tool-call', toolCallId: 'w', toolName: 'web', input: '{"q":1}', providerExecuted: true },
      { type: 'tool-result', toolCallId: 'w', toolName: 'web', result: { preview: true }, preliminary: true },
      { type: 'tool-result', toolCallId: 'w', toolName: 'web', result: { found: [1] } },
      { type: 'source', sourceType: 'url', id: 's', url: 'https://example.org' },
      { type: 'reasoning-start', id: '3' },
      { type: 'reasoning-delta', id: '3', delta: 'Second.' },
      { type: 'reasoning-end', id: '3', ...signature('s2') },
      ...textParts('Now I read.', '4'),
      {
        type: 'tool-call',
        toolCallId: 'c',
        toolName: 'read',
        input: '{"n":1}',
        providerMetadata: { google: { thoughtSignature: 't' } },
      },
      finish('tool-calls'),
    );
    const provider = aiSdk(model);
    const deltas: StreamDelta[] = [];
    const { message } = await provider.answer({ ...base, onEvent: (delta) => deltas.push(delta) });
    expect(message).toMatchObject({
      text: 'I look.\n\nNow I read.',
      reasoning: 'First.\n\nSecond.',
      toolCalls: [{ id: 'c', name: 'read', arguments: '{"n":1}' }],
    });
    expect(deltas.map(({ text = '' }) => text).join('')).toBe(message.text);
    await provider.answer({
      ...base,
      messages: [task, message, { role: 'tool', callId: 'c', name: 'read', text: 'One.' }],
    });
    expect(model.calls[1]?.prompt.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'First.', providerOptions: { anthropic: { signature: 's1' } } },
          { type: 'reasoning', text: '', providerOptions: { anthropic: { redactedData: 'xyz' } } },
          { type: 'text', text: 'I look.' },
          { type: 'tool-call', toolCallId: 'w', toolName: 'web', input: { q: 1 }, providerExecuted: true },
          { type: 'tool-result', toolCallId: 'w', toolName: 'web', output: { type: 'json', value: { found: [1] } } },
          { type: 'reasoning', text: 'Second.', providerOptions: { anthropic: { signature: 's2' } } },
          { type: 'text', text: 'Now I read.' },
          {
            type: 'tool-call',
            toolCallId: 'c',
            toolName: 'read',
            input: { n: 1 },
            providerOptions: { google: { thoughtSignature: 't' } },
          },
        ],
      },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'c', toolName: 'read', output: { type: 'text', value: 'One.' } }],
      },
    ]);
  });

  it('of text that follow each other are one text', async () => {
    const model = playing(...textParts('According to ', '0'), ...textParts('them, yes.', '1'), finish());
    const { message } = await aiSdk(model).answer(base);
    expect(message).toEqual({ role: 'assistant', text: 'According to them, yes.' });
  });

  it('of thought are left out where they are not whole any more: their signature would not fit', async () => {
    const model = playing(...textParts('Ok.'), finish());
    const extra: JsonObject = {
      ai_sdk_content: [
        { type: 'reasoning', length: 99, providerOptions: { anthropic: { signature: 's' } } },
        { type: 'text', length: 2 },
      ],
    };
    await aiSdk(model).answer({
      ...base,
      messages: [task, { role: 'assistant', text: 'Hi', reasoning: 'Cut', extra }, task],
    });
    expect(model.seen[0]?.turns).toEqual(['user: Do it.', 'text: Hi', 'user: Do it.']);
  });

  it('of files are left out, and metadata becomes plain JSON', async () => {
    const odd = { google: { when: new Date(0), gone: undefined } } as unknown as Record<string, Record<string, string>>;
    const model = playing(
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } },
      { type: 'text-start', id: '0', providerMetadata: odd },
      { type: 'text-delta', id: '0', delta: 'Hi' },
      finish(),
    );
    const { message } = await aiSdk(model).answer(base);
    expect(message.extra).toEqual({
      ai_sdk_content: [{ type: 'text', length: 2, providerOptions: { google: { when: '1970-01-01T00:00:00.000Z' } } }],
    });
  });
});

describe('the call', () => {
  it('has parameters in the fields of the AI SDK, and the rest as options of the provider', async () => {
    const model = playing(...textParts('Ok.'), finish());
    const provider = aiSdk(model, {
      providerOptions: { scripted: { a: 1 }, other: { b: 2 } },
      headers: { 'x-own': 'yes' },
    });
    await provider.answer({
      ...base,
      parameters: { top_p: 0.5, topK: 3, stop: 'END', seed: 7, effort: 'low', providerOptions: { other: { c: 3 } } },
    });
    expect(model.calls[0]).toMatchObject({
      topP: 0.5,
      topK: 3,
      stopSequences: ['END'],
      seed: 7,
      headers: { 'x-own': 'yes' },
      providerOptions: { scripted: { a: 1, effort: 'low' }, other: { b: 2, c: 3 } },
    });
    expect(model.calls[0]).not.toHaveProperty('tools');
  });

  it('has ids as the maker of the model takes them', async () => {
    const model = aiModel('mistral-large', () => streamOfParts([...textParts('Ok.'), finish()]));
    const answer: Message = {
      role: 'assistant',
      text: '',
      toolCalls: [{ id: 'call_1', name: 'read', arguments: '{}' }],
    };
    const messages: Message[] = [task, answer, { role: 'tool', callId: 'call_1', name: 'read', text: 'One.' }];
    await aiSdk(model).answer({ ...base, model: 'mistral-large', messages });
    expect(model.seen[0]?.turns[1]).toMatch(/^call [a-zA-Z0-9]{9} read \{\}$/);
  });

  it('asks for the form by a tool where the provider warns that it does not know it, before anything is answered', async () => {
    const output = { name: 'verdict', schema: { type: 'object' } };
    const model = aiModel('m', ({ responseFormat }) =>
      streamOfParts([
        { type: 'stream-start', warnings: responseFormat ? [{ type: 'unsupported', feature: 'responseFormat' }] : [] },
        ...textParts('{}'),
        finish(),
      ]),
    );
    const provider = aiSdk(model);
    const told: string[] = [];
    const onEvent = ({ text = '' }) => void told.push(text);
    await provider.answer({ ...base, output, onEvent });
    await provider.answer({ ...base, output });
    expect(model.seen.map(({ form, tools }) => [form, tools])).toEqual([
      ['verdict', []],
      [undefined, ['final_answer']],
      [undefined, ['final_answer']],
    ]);
    expect(told.join('')).toBe('{}');
  });

  it('and where the provider refuses to ask with it', async () => {
    const model = aiModel('m', ({ responseFormat }) => {
      if (!responseFormat) return streamOfParts([...textParts('{}'), finish()]);
      throw Object.assign(new Error("'responseFormat' functionality not supported."), {
        name: 'AI_UnsupportedFunctionalityError',
      });
    });
    await aiSdk(model).answer({ ...base, output: { name: 'verdict', schema: { type: 'object' } } });
    expect(model.seen.map(({ tools }) => tools)).toEqual([[], ['final_answer']]);
  });
});

describe('which model', () => {
  it('is asked: that of the name', async () => {
    const models = new Map(
      ['a', 'b'].map((name) => [name, aiModel(name, () => streamOfParts([...textParts(name), finish()]))]),
    );
    const provider = aiSdk((name) => {
      const model = models.get(name);
      if (!model) throw Object.assign(new Error(`No such model: ${name}`), { name: 'AI_NoSuchModelError' });
      return model;
    });
    expect((await provider.answer({ ...base, model: 'b' })).message.text).toBe('b');
    expect(await failureOf(provider.answer({ ...base, model: 'c' }))).toEqual([
      'bad_request',
      expect.stringContaining('No such model: c'),
    ]);
  });

  it('a single model answers under no other name', async () => {
    const asked = aiSdk(playing(...textParts('Ok.'), finish())).answer({ ...base, model: 'other' });
    expect(await failureOf(asked)).toEqual(['bad_request', expect.stringMatching(/other.*was given m alone/)]);
  });

  it('an old model is refused with a sentence', async () => {
    const old = { ...playing(finish()), specificationVersion: 'v2' } as unknown as AiSdkModel;
    expect(await failureOf(aiSdk(old).answer(base))).toEqual(['bad_request', expect.stringContaining('v3 or v4')]);
  });
});

describe('no answer', () => {
  const cause = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:9'), { code: 'ECONNREFUSED' });
  const silent = Object.assign(new Error('Headers Timeout Error'), { code: 'UND_ERR_HEADERS_TIMEOUT' });
  const named = (name: string, message: string) => Object.assign(new Error(message), { name });
  const errorPart = (error: unknown) => playing(...textParts('Well'), { type: 'error', error });
  const cases: [string, AiSdkModel, string, RegExp][] = [
    ['a stream without its end', playing(...textParts('Hel')), 'transient', /broke off/],
    ['an interrupted stream', playing(...textParts('Hel'), finish('interrupted')), 'transient', /broke off/],
    ['a reason that nobody gave', playing(...textParts('Hel'), { ...finish('other', '') }), 'transient', /broke off/],
    ['an empty stream', playing(), 'transient', /without a single choice/],
    ['the reason error', playing(finish('error')), 'transient', /"error"/],
    [
      'no connection',
      throwing(new CallError('Cannot connect to API', undefined, {}, undefined, true, { cause })),
      'transient',
      /ECONNREFUSED/,
    ],
    [
      'a silent server',
      throwing(new CallError('Cannot connect', undefined, {}, undefined, true, { cause: silent })),
      'stalled',
      /TIMEOUT/,
    ],
    [
      'a key that is not set',
      throwing(named('AI_LoadAPIKeyError', 'ANTHROPIC_API_KEY is missing.')),
      'auth',
      /ANTHROPIC_API_KEY/,
    ],
    ['a feature that is not there', throwing(named('AI_UnsupportedFunctionalityError', 'No.')), 'bad_request', /No\./],
    [
      'a body that is no answer',
      throwing(new CallError('Invalid JSON response', 200, {}, 'x', false)),
      'transient',
      /Invalid JSON/,
    ],
    [
      'a 400 that may pass',
      throwing(new CallError('Try again', 400, {}, '{"message":"busy"}', true)),
      'transient',
      /busy/,
    ],
    [
      'a status without a body',
      throwing(new CallError('Not Found', 404, {}, undefined, false)),
      'bad_request',
      /Not Found/,
    ],
    [
      'an overloaded server inside the stream',
      errorPart({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
      'transient',
      /Overloaded/,
    ],
    ['an overflow inside the stream', errorPart('prompt is too long: 210000 tokens'), 'overflow', /too long/],
    [
      'an error of the call inside the stream',
      errorPart(new CallError('x', 529, {}, '{"message":"Busy"}', true)),
      'transient',
      /529.*Busy/,
    ],
    [
      'a broken connection',
      errorPart(new TypeError('terminated', { cause })),
      'transient',
      /ECONNREFUSED, terminated|terminated/,
    ],
    ['something thrown', throwing('nothing but a word'), 'transient', /nothing but a word/],
    [
      'an approval that nobody can give',
      playing({ type: 'tool-approval-request', approvalId: 'a', toolCallId: 'c' }, finish()),
      'bad_request',
      /approval of a tool/,
    ],
  ];
  it.each(cases)('%s', async (_, model, failureClass, words) => {
    expect(await failureOf(aiSdk(model).answer(base))).toEqual([failureClass, expect.stringMatching(words)]);
  });

  it('tells the wait, whatever case the headers have', async () => {
    const error = new CallError('Slow down', 429, { 'Retry-After': '3' }, '{"message":"Slow"}', true);
    await expect(aiSdk(throwing(error)).answer(base)).rejects.toMatchObject({
      details: { status: 429, retryAfterMs: 3000 },
    });
  });

  it('tells no secret header', async () => {
    const error = new CallError('x', 401, {}, '{"message":"bad key secret-0123456"}', false);
    const provider = aiSdk(throwing(error), { headers: { 'x-key': 'secret-0123456' } });
    expect(JSON.stringify(await failureOf(provider.answer(base)))).not.toContain('secret-0123456');
  });

  it('ends at once where the model does not heed the signal', async () => {
    const deaf: AiSdkModel = { ...playing(), doStream: () => new Promise<never>(() => undefined) };
    const controller = new AbortController();
    const asked = aiSdk(deaf).answer({ ...base, signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(asked).rejects.toThrow('enough');
  });

  it('is read no further than its budget', async () => {
    const piece = 'x'.repeat(100_000);
    let sent = 0;
    const model = aiModel(
      'm',
      () =>
        new ReadableStream({
          pull(controller) {
            sent += 1;
            controller.enqueue({ type: 'text-delta', id: '0', delta: piece });
          },
        }),
    );
    const { finish: how, message } = await aiSdk(model).answer(base);
    expect([how, message.text.length]).toEqual(['length', 1_000_000]);
    expect(sent).toBeLessThan(20);
  });
});
