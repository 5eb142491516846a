/** Providers of one's own that misbehave: whatever they do, the run ends for a named reason and stays sound. */
import { defineTool, ModelFailure, type ModelAnswer, type ModelProvider, type ModelRequest } from 'everlap';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { containing } from '../support/cases.js';
import { readableHistory } from '../support/readable-history.js';
import { startRig, type Rig } from '../support/rig.js';

const KEY = 'sk-live-0123456789abcdefghij';
const SECRET = `Authorization: Bearer ${KEY}`;

const runs: string[] = [];
const noop = defineTool({
  name: 'noop',
  description: 'Does nothing.',
  input: z.object({}),
  effects: 'none',
  execute: (_, { call }) => {
    runs.push(call.callId);
    return 'done';
  },
});

const said = (text: string): ModelAnswer => ({ message: { role: 'assistant', text }, usage: null, finish: 'end' });
const asked = (...ids: string[]): ModelAnswer => ({
  message: { role: 'assistant', text: '', toolCalls: ids.map((id) => ({ id, name: 'noop', arguments: '{}' })) },
  usage: { input: 10, output: 1 },
  finish: 'end',
});
/** As JavaScript lets one return it. */
const odd = (value: unknown): ModelAnswer => value as ModelAnswer;
const isAnswered = ({ messages }: ModelRequest) => messages.at(-1)?.role === 'tool';

let late: (() => void) | undefined;
const behaviours: Record<string, (request: ModelRequest) => unknown> = {
  'throws a text': () => {
    throw `no luck with ${SECRET}`;
  },
  'throws nothing': () => {
    throw undefined;
  },
  'throws an error with a key': () => {
    throw new Error(`connect failed: ${SECRET}`, { cause: new Error(SECRET) });
  },
  'throws 5 MB': () => {
    throw new Error('x'.repeat(5_000_000));
  },
  'fails with 5 MB and a key': () => {
    throw new ModelFailure('auth', `refused ${SECRET} ${'x'.repeat(5_000_000)}`);
  },
  'fails in a second copy of the package': () => {
    throw Object.assign(new Error('used up'), { name: 'ModelFailure', failureClass: 'quota', details: {} });
  },
  'asks for a wait that is no number': ({ messages }) => {
    if (messages.length === 0) return said('');
    throw new ModelFailure('auth', 'no', { retryAfterMs: Number.NaN });
  },
  'hangs and ignores its signal': () => new Promise(() => undefined),
  'returns after its signal': ({ signal }) =>
    new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve(said('Half an ans')));
    }),
  'returns nothing': () => undefined,
  'returns a text': () => 'Hello.',
  'returns an empty message': () => said(''),
  'returns calls that are none': () => odd({ ...said('Hi.'), message: { ...said('Hi.').message, toolCalls: 'none' } }),
  'returns an empty list of calls': () => odd({ ...said('Hi.'), message: { ...said('Hi.').message, toolCalls: [] } }),
  'returns usage that is none': () => odd({ ...said('Hi.'), usage: { input: Number.NaN, output: -1 } }),
  'calls onEvent after the end': ({ onEvent }) => {
    late = () => onEvent({ text: 'and another thing' });
    return said('Hi.');
  },
  'returns lone surrogates': (request) =>
    isAnswered(request)
      ? said('Done \ud83d.')
      : odd({
          message: {
            role: 'assistant',
            text: 'Look \udc00',
            reasoning: '\ud800',
            extra: { signature: 'a\ud83d' },
            toolCalls: [{ id: 'i\ud83d', name: 'no\udc00op', arguments: '{}' }],
          },
          usage: null,
          finish: 'end',
        }),
  'repeats ids': (request) => {
    const turns = request.messages.filter(({ role }) => role === 'assistant').length;
    return turns < 2 ? asked('a', 'a', '', ' ') : said('Done.');
  },
  'returns 30,000 calls': (request) =>
    isAnswered(request) ? said('Done.') : asked(...Array.from({ length: 30_000 }, (_, n) => `c${n}`)),
  'returns 5 MB of everything': (request) =>
    isAnswered(request)
      ? said('Done.')
      : {
          message: {
            role: 'assistant',
            text: 'é'.repeat(5_000_000),
            reasoning: 'r'.repeat(5_000_000),
            extra: { signature: 's'.repeat(5_000_000) },
            toolCalls: [{ id: 'i'.repeat(5_000_000), name: 'n'.repeat(5_000_000), arguments: 'a'.repeat(5_000_000) }],
          },
          usage: null,
          finish: 'end',
        },
  'returns 5 MB of arguments': (request) =>
    isAnswered(request)
      ? said('Done.')
      : {
          ...asked('a'),
          message: {
            role: 'assistant',
            text: '',
            toolCalls: [{ id: 'a', name: 'n'.repeat(5_000_000), arguments: `{"a":"${'\u0000'.repeat(5_000_000)}"}` }],
          },
        },
};

let rig: Rig;
beforeAll(async () => {
  const provider: ModelProvider = {
    name: 'odd',
    // Not async: what is thrown, is thrown at once.
    answer: (request) => behaviours[request.messages[0]?.text ?? '']?.(request) as Promise<ModelAnswer>,
  };
  rig = await startRig({ script: [], agent: { tools: [noop] }, worker: { provider } });
});
afterAll(() => rig.stop());

async function play(task: string, settings = {}) {
  const run = await rig.start({ task, settings });
  const result = await run.result();
  return { run, result, messages: await run.messages() };
}

describe.concurrent('odd providers', () => {
  test.each(['throws a text', 'throws nothing', 'throws an error with a key', 'returns nothing', 'returns a text'])(
    '%s: internal, with a sentence',
    async (name) => {
      const { run, result } = await play(name);
      expect(result).toMatchObject({ status: 'failed', reason: 'internal' });
      expect(result.error).toContain('The model provider odd failed as none should:');
      expect((await readableHistory(run)).includes(KEY)).toBe(false);
    },
  );

  test('throws 5 MB: cut', async () => {
    const { result } = await play('throws 5 MB');
    expect(result).toMatchObject({ status: 'failed', reason: 'internal' });
    expect(result.error?.length).toBeLessThan(3000);
  });

  test('fails with 5 MB and a key: the class counts, the words are cut and the key is gone', async () => {
    const { result } = await play('fails with 5 MB and a key');
    expect(result).toMatchObject({ status: 'failed', reason: 'auth', error: containing('[key]') });
    expect(result.error).not.toContain(KEY);
    expect(result.error?.length).toBeLessThan(3000);
  });

  test('a ModelFailure of a second copy of the package is one', async () => {
    const { result } = await play('fails in a second copy of the package');
    expect(result).toMatchObject({ status: 'failed', reason: 'quota' });
  });

  test('asks for a wait that is no number: as if it had asked for none', async () => {
    const { result } = await play('asks for a wait that is no number');
    expect(result).toMatchObject({ status: 'failed', reason: 'auth' });
  });

  test.each(['hangs and ignores its signal', 'returns after its signal'])('%s: stalled', async (name) => {
    const { result, messages } = await play(name, {
      model: { name: 'gpt-5-mini', attempts: 1, firstEventTimeout: 300 },
    });
    expect(result).toMatchObject({ status: 'failed', reason: 'stalled', output: null });
    expect(messages).toHaveLength(1);
  });

  test('hangs and ignores its signal, and the run is cancelled: it ends', async () => {
    const run = await rig.start({ task: 'hangs and ignores its signal' });
    while ((await run.state()).phase !== 'model');
    await run.cancel();
    expect(await run.result()).toMatchObject({ status: 'cancelled' });
  });

  test('returns an empty message: asked twice, then empty_answer', async () => {
    const { result } = await play('returns an empty message');
    expect(result).toMatchObject({ status: 'failed', reason: 'empty_answer' });
  });

  test('returns calls that are none: internal', async () => {
    const { result } = await play('returns calls that are none');
    expect(result).toMatchObject({ status: 'failed', reason: 'internal', error: containing('toolCalls') });
  });

  test('returns an empty list of calls: an answer', async () => {
    const { messages, result } = await play('returns an empty list of calls');
    expect(result).toMatchObject({ status: 'completed', output: 'Hi.' });
    expect(messages[1]).toEqual({ role: 'assistant', text: 'Hi.' });
  });

  test('returns usage that is none: an estimate', async () => {
    const { result } = await play('returns usage that is none');
    expect(result).toMatchObject({ status: 'completed', usage: { estimated: true } });
    expect(result.usage.input).toBeGreaterThan(0);
  });

  test('calls onEvent after the end: nobody minds', async () => {
    const { result } = await play('calls onEvent after the end', { model: { name: 'gpt-5-mini', idleTimeout: 50 } });
    expect(result).toMatchObject({ status: 'completed', output: 'Hi.' });
    expect(late).not.toThrow();
  });

  test('returns lone surrogates: replaced, in the conversation and in the output', async () => {
    const { result, messages } = await play('returns lone surrogates');
    expect(result).toMatchObject({ status: 'completed', output: 'Done \ufffd.' });
    expect(messages[1]).toMatchObject({
      text: 'Look \ufffd',
      reasoning: '\ufffd',
      extra: { signature: 'a\ufffd' },
      toolCalls: [{ id: 'i\ufffd', name: 'no\ufffdop' }],
    });
  });

  test('repeats ids: each call has one of its own, in the conversation and for the tool', async () => {
    const { result, messages } = await play('repeats ids');
    expect(result).toMatchObject({ status: 'completed', output: 'Done.', toolCalls: 8 });
    const ids = messages
      .flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
      .map(({ id }) => id);
    expect(new Set(ids).size).toBe(8);
    expect(messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))).toEqual(ids);
    expect(runs).toEqual(expect.arrayContaining(ids));
  });

  test('returns 30,000 calls: as many as a workflow can bear, and the model is told', async () => {
    const { result, messages } = await play('returns 30,000 calls');
    expect(result).toMatchObject({ status: 'completed', output: 'Done.', toolCalls: 199 });
    const results = messages.filter((message) => message.role === 'tool');
    expect(results).toHaveLength(200);
    expect(results.at(-1)).toMatchObject({ isError: true, text: containing('cut off') });
  });

  test('returns 5 MB of everything: bounded, and the run ends well', async () => {
    const { result, messages } = await play('returns 5 MB of everything');
    expect(result).toMatchObject({ status: 'completed' });
    expect(JSON.stringify(messages).length).toBeLessThan(2_000_000);
  });

  test('returns 5 MB of arguments: the call is not run', async () => {
    const { result, messages } = await play('returns 5 MB of arguments');
    expect(result).toMatchObject({ status: 'completed', output: 'Done.', toolCalls: 0 });
    expect(messages[2]).toMatchObject({ role: 'tool', isError: true, text: containing('cut off') });
  });
});
