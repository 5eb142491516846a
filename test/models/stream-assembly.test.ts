/** Shapes of streams that no recording has, and the bounds of a reply. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { strictComplaint } from '../../src/conversation/strict.js';
import { MAX_ANSWER_BYTES, MAX_EXTRA_BYTES } from '../../src/models/reply-budget.js';
import { StreamAssembly } from '../../src/models/stream-assembly.js';
import { wireMessages } from '../../src/models/wire.js';
import { DEFAULT_TRAITS } from '../../src/models/traits.js';

const chunk = (delta: unknown, more: object = {}) => ({ choices: [{ index: 0, delta, finish_reason: null, ...more }] });
const call = (entry: object) => chunk({ tool_calls: [entry] });
const fn = (name: unknown, json?: unknown) => ({ function: { name, arguments: json } });

function assemble(...chunks: unknown[]) {
  const assembly = new StreamAssembly();
  for (const one of chunks) assembly.feed(one);
  return assembly.result();
}

function calls(...chunks: unknown[]) {
  return assemble(...chunks).toolCalls.map(({ id, name, arguments: json }) => [id, name, json]);
}

describe('tool calls', () => {
  const cases: Record<string, [unknown[], unknown[][]]> = {
    'no index, id only on the first delta': [
      [call({ id: 'a', ...fn('f', '{"x"') }), call(fn(undefined, ':1}'))],
      [['a', 'f', '{"x":1}']],
    ],
    'no id on the first delta': [
      [call({ index: 0, ...fn('f', '') }), call({ index: 0, id: 'a', ...fn(null, '{}') })],
      [['a', 'f', '{}']],
    ],
    'no ids at all, no index, whole calls with equal names and arguments': [
      [call(fn('f', '{"x":1}')), call(fn('f', '{"x":1}'))],
      [
        ['', 'f', '{"x":1}'],
        ['', 'f', '{"x":1}'],
      ],
    ],
    'the same in one delta, without arguments': [
      [chunk({ tool_calls: [fn('f', ''), fn('f', '')] })],
      [
        ['', 'f', ''],
        ['', 'f', ''],
      ],
    ],
    'the name late, null and "" at first': [
      [
        call({ index: 0, id: 'a', ...fn(null, '') }),
        call({ index: 0, ...fn('', '{"x"') }),
        call({ index: 0, ...fn('f', ':1}') }),
      ],
      [['a', 'f', '{"x":1}']],
    ],
    'the name repeated on every delta': [
      [call({ index: 0, id: 'a', ...fn('f', '{"x"') }), call({ index: 0, id: 'a', ...fn('f', ':1}') })],
      [['a', 'f', '{"x":1}']],
    ],
    'the name repeated without index and id': [
      [call({ id: 'a', ...fn('f', '{"x"') }), call(fn('f', ':1}'))],
      [['a', 'f', '{"x":1}']],
    ],
    'the name in pieces': [
      [
        call({ index: 0, id: 'a', ...fn('read_') }),
        call({ index: 0, ...fn('file') }),
        call({ index: 0, ...fn(null, '{}') }),
      ],
      [['a', 'read_file', '{}']],
    ],
    'two calls interleaved by index, from 1, the second first': [
      [
        call({ index: 2, id: 'b', ...fn('g', '{"y"') }),
        call({ index: 1, id: 'a', ...fn('f', '{"x"') }),
        call({ index: 2, ...fn(null, ':2}') }),
        call({ index: 1, ...fn(null, ':1}') }),
      ],
      [
        ['a', 'f', '{"x":1}'],
        ['b', 'g', '{"y":2}'],
      ],
    ],
    'two calls interleaved by id': [
      [
        call({ id: 'a', ...fn('f', '{"x"') }),
        call({ id: 'b', ...fn('g', '{"y"') }),
        call({ id: 'a', ...fn(null, ':1}') }),
        call({ id: 'b', ...fn(null, ':2}') }),
      ],
      [
        ['a', 'f', '{"x":1}'],
        ['b', 'g', '{"y":2}'],
      ],
    ],
    'two calls under one index, told apart by their ids': [
      [call({ index: 0, id: 'a', ...fn('f', '') }), call({ index: 0, id: 'b', ...fn('f', '') })],
      [
        ['a', 'f', ''],
        ['b', 'f', ''],
      ],
    ],
    'two calls under one index, without ids': [
      [call({ index: 0, ...fn('f', '{}') }), call({ index: 0, ...fn('g', '{"y":1}') })],
      [
        ['', 'f', '{}'],
        ['', 'g', '{"y":1}'],
      ],
    ],
    'one id under two indices': [
      [call({ index: 0, id: 'a', ...fn('f', '{}') }), call({ index: 1, id: 'a', ...fn('f', '{}') })],
      [
        ['a', 'f', '{}'],
        ['a', 'f', '{}'],
      ],
    ],
    'another id on every delta of one call': [
      [call({ index: 0, id: 'a', ...fn('f', '{"x"') }), call({ index: 0, id: 'b', ...fn(null, ':1}') })],
      [['a', 'f', '{"x":1}']],
    ],
    'empty ids that must not overwrite': [
      [call({ index: 0, id: 'a', ...fn('f', '') }), call({ index: 0, id: '', ...fn('', '{}') })],
      [['a', 'f', '{}']],
    ],
    'a call sent once more, whole': [
      [
        call({ index: 0, id: 'a', ...fn('f', '{"x"') }),
        call({ index: 0, ...fn(null, ':1}') }),
        call({ index: 0, id: 'a', ...fn('f', '{"x":1}') }),
      ],
      [['a', 'f', '{"x":1}']],
    ],
    'the index late, and as a text': [
      [call({ id: 'a', ...fn('f', '') }), call({ index: '0', ...fn(null, '{}') })],
      [['a', 'f', '{}']],
    ],
    'arguments that are parsed already, a numeric id': [
      [call({ id: 7, ...fn('f', { x: 1 }) })],
      [['7', 'f', '{"x":1}']],
    ],
    'entries that say nothing': [[call({ index: 0 }), chunk({ tool_calls: [null, 'x', {}] })], []],
    'the form before tool_calls': [
      [chunk({ function_call: { name: 'f', arguments: '{"x"' } }), chunk({ function_call: { arguments: ':1}' } })],
      [['', 'f', '{"x":1}']],
    ],
    '__proto__ as a name': [[call({ index: 0, id: 'a', ...fn('__proto__', '{}') })], [['a', '__proto__', '{}']]],
  };
  it.each(Object.entries(cases))('%s', (_, [chunks, expected]) => {
    expect(calls(...chunks)).toEqual(expected);
  });

  it('keeps unknown fields of a call', () => {
    const { toolCalls } = assemble(
      call({ index: 0, id: 'a', ...fn('f', ''), extra_content: { google: { thought_signature: 's' } } }),
    );
    expect(toolCalls[0]?.extra).toEqual({ extra_content: { google: { thought_signature: 's' } } });
  });
});

describe('the message', () => {
  it('joins a surrogate pair over two deltas, and repairs half of one', () => {
    expect(assemble(chunk({ content: 'a\ud83c' }), chunk({ content: '\udf0db' })).text).toBe('a🌍b');
    expect(assemble(chunk({ content: 'a\ud83c' }), chunk({ content: 'b' })).text).toBe('a\ufffdb');
    const { toolCalls, extra } = assemble(
      call({ index: 0, id: '\ud83c', ...fn('\ud83c', '{"x":"\ud83c') }),
      chunk({ reasoning_content: '\ud83c' }),
    );
    expect(JSON.stringify([toolCalls, extra])).not.toContain('\\ud83c');
  });

  it('survives chunks of any shape', () => {
    for (const odd of [null, [], 'x', 7, {}, { choices: null }, { choices: [null] }, { choices: [7] }]) {
      expect(assemble(odd, chunk(null), chunk('x'), chunk({ content: 'a' })).text).toBe('a');
    }
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.jsonValue(),
            fc.jsonValue().map((delta) => chunk(delta)),
          ),
        ),
        (chunks) => {
          assemble(...chunks);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('takes a whole message only where no deltas came', () => {
    const message = { choices: [{ message: { content: 'whole', tool_calls: null }, finish_reason: 'stop' }] };
    expect(assemble(message)).toMatchObject({ text: 'whole', finishReason: 'stop', isWhole: true });
    expect(assemble(chunk({ content: 'whole' }), message).text).toBe('whole');
  });

  it('follows the first choice only', () => {
    const other = { choices: [{ index: 1, delta: { content: 'other' }, finish_reason: 'stop' }] };
    expect(assemble(chunk({ content: 'a' }), other, chunk({ content: 'b' }))).toMatchObject({
      text: 'ab',
      finishReason: null,
      isWhole: false,
    });
  });

  it('reads the same thinking from two fields once', () => {
    expect(
      assemble(chunk({ reasoning: 'a', reasoning_content: 'a' }), chunk({ reasoning: 'b', reasoning_content: 'b' })),
    ).toMatchObject({ reasoning: 'ab', extra: { reasoning: 'ab', reasoning_content: 'ab' } });
  });

  it('keeps usage unknown where it is null, zero or never told, and never sums it up', () => {
    expect(assemble({ usage: null }, { usage: { prompt_tokens: 0, completion_tokens: 0 } }).usage).toBeNull();
    expect(assemble({ usage: { prompt_tokens: 8, total_tokens: 9 } }, { usage: null }).usage).toEqual({
      input: 8,
      output: 1,
    });
    const details = {
      prompt_tokens_details: { cached_tokens: 99 },
      completion_tokens_details: { reasoning_tokens: 2 },
    };
    expect(assemble({ choices: [{ usage: { prompt_tokens: 8, completion_tokens: 3, ...details } }] }).usage).toEqual({
      input: 8,
      output: 3,
      cachedInput: 8,
      reasoning: 2,
    });
  });

  it('counts thinking that stands beside the output, or in the total alone', () => {
    const xai = { reasoning_tokens: 136 };
    const usage = { prompt_tokens: 432, completion_tokens: 68, total_tokens: 636, completion_tokens_details: xai };
    expect(assemble({ usage }).usage).toEqual({ input: 432, output: 68, thinking: 136 });
    const gemini = { prompt_tokens: 35, completion_tokens: 12, total_tokens: 109 };
    expect(assemble({ usage: gemini }).usage).toEqual({ input: 35, output: 12, thinking: 62 });
  });

  it.each([
    { error: { message: 'x' } },
    { error: 'x' },
    { object: 'error', message: 'x' },
    { type: 'error', error: {} },
    { detail: 'x' },
    { message: 'x' },
    { choices: [{ index: 0, delta: {}, error: { code: 502 } }] },
    { choices: null, base_resp: { status_code: 1008, status_msg: 'insufficient balance' } },
  ])('sees the error in %j', (error) => {
    expect(assemble(chunk({ content: 'a' }), error).error).toEqual(error);
    expect(assemble(chunk({ content: 'a' }), { ...chunk({}), error: null }).error).toBeNull();
  });
});

describe('bounds', () => {
  it('cuts text and arguments at whole characters', () => {
    const text = assemble(...Array.from({ length: 40 }, () => chunk({ content: '🌍'.repeat(25_000) })));
    expect(text.isCut).toBe(true);
    expect(Buffer.byteLength(text.text)).toBe(MAX_ANSWER_BYTES);
    expect(text.text.endsWith('🌍')).toBe(true);
    const { isCut, toolCalls } = assemble(call({ index: 0, id: 'a', ...fn('f', `{"x":"${'\\n'.repeat(1_000_000)}`) }));
    expect(isCut).toBe(true);
    expect(Buffer.byteLength(JSON.stringify(toolCalls))).toBeLessThan(MAX_ANSWER_BYTES + 200);
  });

  it('leaves no half of a pair at the cut, wherever the pair was parted', () => {
    const assembly = new StreamAssembly(6);
    for (const content of ['abcd', '\ud83c', '\udf0d']) assembly.feed(chunk({ content }));
    expect(assembly.result()).toMatchObject({ text: 'abcd', isCut: true });
  });

  it('bounds thinking and what goes back, without cutting the answer', () => {
    const thinking = Array.from({ length: 100 }, () => chunk({ reasoning_content: 'x'.repeat(10_000) }));
    const { reasoning, extra, text, isCut } = assemble(...thinking, chunk({ content: 'answer' }));
    expect(reasoning.length).toBeLessThan(MAX_EXTRA_BYTES);
    expect({ extra, text, isCut }).toEqual({ extra: {}, text: 'answer', isCut: false });
  });
});

it('any stream can be sent back', () => {
  const anyCall = fc.record({
    index: fc.option(fc.nat(2), { nil: undefined }),
    id: fc.constantFrom(undefined, null, '', 'a', 'b'),
    function: fc.record({
      name: fc.constantFrom(undefined, null, '', 'f', 'g h'),
      arguments: fc.constantFrom(undefined, '', '{', '{}', '{"x":1}', '[]', '"\\ud83c"', '{"x":"\\ud83c"}'),
    }),
  });
  const delta = fc.record({
    content: fc.constantFrom(undefined, null, '', 'text', '\ud83c'),
    reasoning: fc.constantFrom(undefined, 'why'),
    tool_calls: fc.oneof(fc.constant(undefined), fc.array(anyCall, { maxLength: 3 })),
  });
  fc.assert(
    fc.property(fc.array(delta, { maxLength: 6 }), (deltas) => {
      const { text, toolCalls } = assemble(...deltas.map((one) => chunk(one)));
      const message = { role: 'assistant' as const, text, ...(toolCalls.length > 0 && { toolCalls }) };
      expect(strictComplaint(wireMessages([message], 'x', DEFAULT_TRAITS))).toBeNull();
    }),
    { numRuns: 500 },
  );
});
