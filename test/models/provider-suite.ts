/**
 * What every provider must do, whatever it speaks: one suite, played by each provider's own stage. A stage answers in the
 * provider's format what a script says, and tells in one common form what it was asked.
 */
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/conversation/json.js';
import type { Message, ToolCall } from '../../src/conversation/message.js';
import { NO_RESULT } from '../../src/models/normalise.js';
import { ModelFailure, type ModelProvider, type ModelRequest, type StreamDelta } from '../../src/models/provider.js';
import { soundAnswer } from '../../src/models/sound-answer.js';

export interface ScriptedReply {
  readonly text?: string;
  readonly reasoning?: string;
  /** `id: null`: the server gives none. */
  readonly calls?: readonly { readonly id: string | null; readonly name: string; readonly arguments: string }[];
  readonly finish?: 'end' | 'length' | 'filter';
  readonly usage?: {
    readonly input: number;
    readonly output: number;
    readonly cachedInput?: number;
    readonly reasoning?: number;
  };
  /** After the first pieces, the connection breaks, or nothing more comes. */
  readonly then?: 'cut' | 'silence';
  /** Instead of an answer. */
  readonly error?: { readonly status: number; readonly headers?: Record<string, string>; readonly body: JsonObject };
}

/** One request, in a form that all formats have in common. */
export interface SeenRequest {
  readonly instructions: string;
  /** `user: …`, `text: …`, `thought: …`, `call <id> <name> <arguments>`, `result <id>: …`, in order. */
  readonly turns: readonly string[];
  readonly tools: readonly string[];
  readonly strictTools: readonly string[];
  readonly toolChoice: 'auto' | 'none';
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  /** The name of the form that was asked for by a field of the request. */
  readonly form?: string;
}

export interface Stage {
  readonly provider: ModelProvider;
  readonly model: string;
  readonly seen: () => readonly SeenRequest[];
  readonly close: () => Promise<void>;
}

export const TEXT = 'The invoice is paid; 🌍 knows.';

const task: Message = { role: 'user', kind: 'task', text: 'Do it.' };
const result = (callId: string, text: string): Message => ({ role: 'tool', callId, name: 'read', text });
const tool = (name: string, strict?: boolean) => ({
  name,
  description: `Does ${name}.`,
  parameters: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'], additionalProperties: false },
  ...(strict !== undefined && { strict }),
});
const readOne = { id: 'call_a', name: 'read', arguments: '{"n":1}' };
const readTwo = { id: 'call_b', name: 'read', arguments: '{"n":2}' };

export function providerSuite(name: string, stage: (script: readonly ScriptedReply[]) => Promise<Stage>): void {
  describe(`provider ${name}`, () => {
    const stages: Stage[] = [];
    afterEach(async () => {
      await Promise.all(stages.splice(0).map((one) => one.close()));
    });

    async function start(...script: ScriptedReply[]) {
      const one = await stage(script);
      stages.push(one);
      const ask = (request: Partial<ModelRequest> = {}) =>
        one.provider.answer({
          model: one.model,
          instructions: 'Be brief.',
          messages: [task],
          tools: [],
          toolChoice: 'auto',
          signal: new AbortController().signal,
          onEvent: () => undefined,
          ...request,
        });
      return { ...one, ask };
    }

    const failed = async (asked: Promise<unknown>): Promise<ModelFailure> => {
      const error: unknown = await asked.then(
        () => new Error('it was an answer'),
        (reason: unknown) => reason,
      );
      if (!(error instanceof ModelFailure)) throw error;
      return error;
    };

    it('answers with text, in pieces', async () => {
      const { ask, seen } = await start({ text: TEXT, usage: { input: 7, output: 3 } });
      const deltas: StreamDelta[] = [];
      const answer = await ask({ onEvent: (delta) => deltas.push(delta) });
      expect(answer).toEqual({
        message: { role: 'assistant', text: TEXT },
        usage: { input: 7, output: 3 },
        finish: 'end',
      });
      const pieces = deltas.map(({ text }) => text ?? '');
      expect(pieces.join('')).toBe(TEXT);
      expect(pieces.filter((piece) => piece !== '').length).toBeGreaterThan(1);
      expect(seen()).toMatchObject([{ instructions: 'Be brief.', turns: ['user: Do it.'], tools: [] }]);
    });

    it('keeps reasoning, and sends it back in its place', async () => {
      const { ask, seen } = await start({ reasoning: 'Hm, easy.', text: TEXT }, { text: 'Bye.' });
      const deltas: StreamDelta[] = [];
      const { message } = await ask({ onEvent: (delta) => deltas.push(delta) });
      expect(message).toMatchObject({ text: TEXT, reasoning: 'Hm, easy.' });
      expect(deltas.map(({ reasoning }) => reasoning ?? '').join('')).toBe('Hm, easy.');
      await ask({ messages: [task, message, { role: 'user', kind: 'follow_up', text: 'And?' }] });
      expect(seen()[1]?.turns).toEqual(['user: Do it.', 'thought: Hm, easy.', `text: ${TEXT}`, 'user: And?']);
    });

    it('asks for one call', async () => {
      const { ask, seen } = await start({ calls: [readOne] });
      const { message, finish } = await ask({ tools: [tool('read'), tool('write', true)] });
      expect({ message, finish }).toMatchObject({ message: { text: '', toolCalls: [readOne] }, finish: 'end' });
      expect(seen()[0]).toMatchObject({ tools: ['read', 'write'], strictTools: ['write'], toolChoice: 'auto' });
    });

    it('takes a whole turn there and back: reasoning, text, two calls, their results', async () => {
      const { ask, seen } = await start(
        { reasoning: 'Two of them.', text: 'I look.', calls: [readOne, readTwo] },
        { text: 'Done.' },
      );
      const { message } = await ask({ tools: [tool('read')] });
      expect(message.toolCalls).toMatchObject([readOne, readTwo]);
      const failedResult: Message = { role: 'tool', callId: 'call_b', name: 'read', text: 'No such.', isError: true };
      const messages = [task, message, result('call_a', 'One.'), failedResult];
      expect((await ask({ messages, tools: [tool('read')] })).message.text).toBe('Done.');
      expect(seen()[1]?.turns).toEqual([
        'user: Do it.',
        'thought: Two of them.',
        'text: I look.',
        'call call_a read {"n":1}',
        'call call_b read {"n":2}',
        'result call_a: One.',
        'result call_b: No such.',
      ]);
    });

    it.each([
      ['missing', null],
      ['repeated', 'same'],
    ])('lives with ids that are %s', async (_, id) => {
      const { ask, seen } = await start(
        { calls: [readOne, readTwo].map((call) => ({ ...call, id })) },
        { text: 'Ok.' },
      );
      const { message } = soundAnswer(await ask({ tools: [tool('read')] }), [task]);
      const [first, second] = message.toolCalls ?? [];
      expect([first?.arguments, second?.arguments]).toEqual(['{"n":1}', '{"n":2}']);
      await ask({
        messages: [task, message, result(first?.id ?? '', 'One.'), result(second?.id ?? '', 'Two.')],
        tools: [tool('read')],
      });
      expect(pairsOf(seen()[1]?.turns ?? [])).toEqual(['{"n":1} -> One.', '{"n":2} -> Two.']);
    });

    it('takes no cut stream for an answer', async () => {
      const { ask } = await start({ text: TEXT, then: 'cut' }, { calls: [readOne], then: 'cut' });
      expect(await failed(ask())).toMatchObject({ failureClass: 'transient' });
      expect(await failed(ask())).toMatchObject({ failureClass: 'transient' });
    });

    it('ends with the reason of its signal', async () => {
      const { ask } = await start({ text: TEXT, then: 'silence' });
      const controller = new AbortController();
      const reason = new Error('enough');
      const asked = ask({ signal: controller.signal, onEvent: () => controller.abort(reason) });
      await expect(asked).rejects.toBe(reason);
      await expect(ask({ signal: controller.signal })).rejects.toBe(reason);
    });

    it('rejects with what onEvent throws', async () => {
      const { ask } = await start({ text: TEXT });
      const fault = new Error('mine');
      const onEvent = () => {
        throw fault;
      };
      await expect(ask({ onEvent })).rejects.toBe(fault);
    });

    const refusals: [string, NonNullable<ScriptedReply['error']>, object][] = [
      ['auth', refusal(401, 'invalid_request_error', 'invalid_api_key', 'Incorrect API key provided.'), {}],
      [
        'transient',
        { ...refusal(429, 'requests', 'rate_limit_exceeded', 'Rate limit reached.'), headers: { 'retry-after': '7' } },
        { details: { status: 429, retryAfterMs: 7000 } },
      ],
      ['quota', refusal(429, 'insufficient_quota', 'insufficient_quota', 'You exceeded your current quota.'), {}],
      ['transient', refusal(503, 'server_error', null, 'The server is overloaded.'), { details: { status: 503 } }],
      [
        'overflow',
        refusal(400, 'invalid_request_error', 'context_length_exceeded', 'Your input exceeds the context window.'),
        {},
      ],
      ['content_filter', refusal(400, 'invalid_request_error', 'content_filter', 'The content was filtered.'), {}],
      ['bad_request', refusal(400, 'invalid_request_error', null, 'Nobody can do that.'), {}],
    ];
    it.each(refusals)('classes a refusal: %s', async (failureClass, error, more) => {
      const { ask, model, seen } = await start({ error });
      const failure = await failed(ask());
      expect(failure).toMatchObject({ failureClass, ...more });
      expect(failure.message).toContain(model);
      expect(seen()).toHaveLength(1);
    });

    it('classes an answer that a filter stopped', async () => {
      const { ask } = await start({ text: 'Well, ', finish: 'filter' });
      expect((await failed(ask())).failureClass).toBe('content_filter');
    });

    it('tells that the length limit cut an answer off, in a text and in a call', async () => {
      const half = { ...readOne, arguments: '{"n":' };
      const { ask } = await start({ text: 'Once upon', finish: 'length' }, { calls: [half], finish: 'length' });
      expect(await ask()).toMatchObject({ message: { text: 'Once upon' }, finish: 'length' });
      expect(await ask({ tools: [tool('read')] })).toMatchObject({
        message: { toolCalls: [{ name: 'read', arguments: '{"n":' }] },
        finish: 'length',
      });
    });

    it('tells usage with its parts, and null where there is none', async () => {
      const usage = { input: 100, output: 20, cachedInput: 60, reasoning: 8 };
      const { ask } = await start({ text: 'a', usage }, { text: 'b' });
      expect((await ask()).usage).toEqual(usage);
      expect((await ask()).usage).toBeNull();
    });

    it('forbids calls, with the tools still there', async () => {
      const { ask, seen } = await start({ text: 'Without.' });
      await ask({ tools: [tool('read')], toolChoice: 'none' });
      expect(seen()[0]).toMatchObject({ tools: ['read'], toolChoice: 'none' });
    });

    it('sends the cap and parameters: of two caps the smaller', async () => {
      const { ask, seen } = await start({ text: 'a' }, { text: 'b' });
      await ask({ maxOutputTokens: 50, parameters: { temperature: 0.25, max_tokens: 900 } });
      await ask({ maxOutputTokens: 90, parameters: { max_completion_tokens: 40 } });
      expect(seen()).toMatchObject([{ maxOutputTokens: 50, temperature: 0.25 }, { maxOutputTokens: 40 }]);
    });

    const output = { name: 'verdict', schema: tool('x').parameters, strict: true };
    const BY_TOOL = { tools: ['final_answer'], strictTools: ['final_answer'] };
    const finalAnswer = { id: 'call_f', name: 'final_answer', arguments: '{"n":1}' };

    it('asks for the form of an answer by a field, beside tools by a field or a tool', async () => {
      const { ask, seen } = await start({ text: '{"n":1}' }, { text: '{"n":1}' });
      await ask({ output });
      await ask({ output, tools: [tool('read')] });
      expect(seen()[0]).toMatchObject({ form: 'verdict', instructions: 'Be brief.', tools: [] });
      if (seen()[1]?.form === undefined) expect(seen()[1]?.tools).toEqual(['read', 'final_answer']);
      else expect(seen()[1]).toMatchObject({ form: 'verdict', tools: ['read'] });
    });

    it('asks for it by a tool once the server has refused the field, and in words where there are no tools either', async () => {
      const { ask, seen } = await start(
        { error: refusal(400, 'invalid_request_error', null, 'This response_format type is unavailable now') },
        { calls: [finalAnswer] },
        { error: refusal(400, 'invalid_request_error', null, 'some-model does not support tools') },
        { text: '{"n":1}' },
        { text: '{"n":2}' },
      );
      expect((await ask({ output })).message.toolCalls).toMatchObject([{ name: 'final_answer', arguments: '{"n":1}' }]);
      for (const text of ['{"n":1}', '{"n":2}']) expect((await ask({ output })).message.text).toBe(text);
      const inWords = { instructions: expect.stringContaining(JSON.stringify(output.schema)) as string, tools: [] };
      expect(seen()).toMatchObject([{ form: 'verdict', tools: [] }, BY_TOOL, BY_TOOL, inWords, inWords]);
      expect(seen()[1]?.instructions).toMatch(/^Be brief\.\n\n.*final_answer/);
      for (const { form } of seen().slice(1)) expect(form).toBeUndefined();
    });

    it('asks for it by a tool once an answer has shown that nobody had looked at the field', async () => {
      const { ask, seen } = await start(
        { text: '```json\n{"n":1}\n```' },
        { text: 'It is one.', finish: 'length' },
        { text: 'It is one.' },
        { calls: [finalAnswer] },
      );
      for (let n = 0; n < 4; n += 1) await ask({ output });
      expect(seen().map(({ form }) => form)).toEqual(['verdict', 'verdict', 'verdict', undefined]);
      expect(seen()[3]).toMatchObject(BY_TOOL);
    });

    it('keeps to the tool in a conversation that has calls of it', async () => {
      const { ask, seen } = await start({ calls: [finalAnswer] });
      const message: Message = { role: 'assistant', text: '', toolCalls: [finalAnswer] };
      const told: Message = { role: 'tool', callId: 'call_f', name: 'final_answer', text: 'Error.', isError: true };
      await ask({ output, messages: [task, message, told] });
      expect(seen()[0]).toMatchObject(BY_TOOL);
    });

    it('asks for it in words where no tool may be called', async () => {
      const { ask, seen } = await start({ text: '{"n":1}' });
      await ask({ output, tools: [tool('read')], toolChoice: 'none' });
      if (seen()[0]?.form === undefined) expect(seen()[0]?.instructions).toContain('JSON Schema');
      expect(seen()[0]?.tools).toEqual(['read']);
    });

    it('sends no half characters', async () => {
      const { ask, seen } = await start({ text: 'a' });
      const call: ToolCall = { id: 'c', name: 'read', arguments: '{"n":"\\ud83c"}' };
      const messages: Message[] = [
        { ...task, text: 'a\ud83c' },
        { role: 'assistant', text: '\udf0db', toolCalls: [call] },
        result('c', 'c\ud83c'),
      ];
      await ask({ messages, instructions: 'd\ud83c', tools: [tool('read')] });
      expect(JSON.stringify(seen()[0])).not.toMatch(/\\ud[89a-f]/i);
      expect(seen()[0]?.turns).toHaveLength(4);
    });

    it('pairs calls and results in any conversation', async () => {
      const { ask, seen } = await start(...Array.from({ length: 25 }, () => ({ text: 'ok' })));
      await fc.assert(
        fc.asyncProperty(conversation, async (messages) => {
          await ask({ messages, tools: [tool('read')] });
          const { turns = [] } = seen().at(-1) ?? {};
          expect(turns[0]).toMatch(/^user:/);
          expect(turns.at(-1)).not.toMatch(/^(text|thought):/);
          pairsOf(turns);
        }),
        { numRuns: 25 },
      );
    });

    it('says that a result is missing', async () => {
      const { ask, seen } = await start({ text: 'ok' });
      const message: Message = { role: 'assistant', text: '', toolCalls: [readOne] };
      await ask({ messages: [task, message], tools: [tool('read')] });
      expect(pairsOf(seen()[0]?.turns ?? [])).toEqual([`{"n":1} -> ${NO_RESULT}`]);
    });
  });
}

function refusal(status: number, type: string, code: string | null, message: string) {
  return { status, body: { error: { message, type, param: null, code } } };
}

/** `arguments -> result` of each call. Throws where a call has not exactly one result, directly after its answer, in order. */
function pairsOf(turns: readonly string[]): string[] {
  const pairs: string[] = [];
  const open: { id: string; json: string }[] = [];
  for (const turn of turns) {
    const call = /^call (\S+) \S+ ([\s\S]*)$/.exec(turn);
    const answered = /^result (\S+): ([\s\S]*)$/.exec(turn);
    if (call) {
      open.push({ id: call[1] ?? '', json: call[2] ?? '' });
    } else if (answered) {
      const waiting = open.shift();
      if (waiting?.id !== answered[1])
        throw new Error(`${turn} answers no call, or comes too early: ${turns.join('\n')}`);
      pairs.push(`${waiting?.json} -> ${answered[2]}`);
    } else if (open.length > 0 && turn.startsWith('user:')) {
      throw new Error(`A call has no result before ${turn}: ${turns.join('\n')}`);
    }
  }
  if (open.length > 0) throw new Error(`The last calls have no results: ${turns.join('\n')}`);
  return pairs;
}

const id = fc.constantFrom('', 'a', 'b', 'a_2', 'functions.f:0', 'x'.repeat(80));
const words = fc.constantFrom('', ' ', 'a', '\ud83c', '🌍', 'b\n');
const anyCall = fc.record({
  id,
  name: fc.constantFrom('read', '', 'read file!', 'x'.repeat(100)),
  arguments: fc.constantFrom('', '{}', '{', '[]', '{"n":"\\ud83c"}', '{"n": 12345678901234567890}'),
});
const conversation: fc.Arbitrary<Message[]> = fc.array(
  fc.oneof(
    fc.record({ role: fc.constant('user' as const), kind: fc.constant('task' as const), text: words }),
    fc.record({
      role: fc.constant('assistant' as const),
      text: words,
      toolCalls: fc.oneof(fc.constant(undefined), fc.array(anyCall, { minLength: 1, maxLength: 3 })),
      extra: fc.constantFrom<(JsonObject | undefined)[]>(
        undefined,
        { reasoning_content: 'r' },
        {
          responses_output: [
            { type: 'function_call', id: 'fc_1' },
            { type: 'message', length: 1, id: 'msg_1' },
          ],
        },
        { responses_output: 'x', ai_sdk_content: [null, { type: 'tool-call' }, { type: 'text', length: 'x' }] },
        { ai_sdk_content: [{ type: 'reasoning', length: 0, providerOptions: { a: { b: 'c' } } }, { type: 'text' }] },
      ),
    }),
    fc.record({ role: fc.constant('tool' as const), callId: id, name: fc.constantFrom('read', ''), text: words }),
  ),
  { maxLength: 8 },
);
