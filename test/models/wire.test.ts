/** Whatever a conversation went through, the request is one that a strict provider takes. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/conversation/json.js';
import type { Message, ToolCall } from '../../src/conversation/message.js';
import { strictComplaint } from '../../src/conversation/strict.js';
import { NO_RESULT, normalise, objectArguments } from '../../src/models/normalise.js';
import { DEFAULT_TRAITS, type Traits, traitsFor } from '../../src/models/traits.js';
import { requestBody, wireMessages } from '../../src/models/wire.js';

const user = (text: string): Message => ({ role: 'user', kind: 'task', text });
const says = (text: string, ...toolCalls: ToolCall[]): Message => ({
  role: 'assistant',
  text,
  ...(toolCalls.length > 0 && { toolCalls }),
});
const call = (id: string, name = 'f', json = '{}'): ToolCall => ({ id, name, arguments: json });
const result = (callId: string, text = `result of ${callId}`): Message => ({ role: 'tool', callId, name: 'f', text });
const wire = (messages: Message[], traits: Partial<Traits> = {}, instructions = '') =>
  wireMessages(messages, instructions, { ...DEFAULT_TRAITS, ...traits });
const shape = (messages: Message[]) =>
  normalise(messages).map((m) =>
    m.role === 'tool' ? `${m.callId}=${m.text}` : m.role === 'user' ? m.text : `> ${m.text}`,
  );

const text = fc.constantFrom('', ' ', 'a', '\ud83c', '🌍', 'b\n');
const id = fc.constantFrom('', 'a', 'b', 'a_2', '\ud83c', 'functions.f:0', 'x'.repeat(80), 'abcdefgh9');
const anyCall = fc.record({
  id,
  name: fc.constantFrom('f', '', 'read file!', '__proto__', 'x'.repeat(100), '\ud83c'),
  arguments: fc.constantFrom(
    '',
    ' ',
    '{}',
    '{',
    '[]',
    'null',
    '"x"',
    '{"a":"\\ud83c"}',
    '{"\\udf0d":1}',
    '{"a":"\ud83c"}',
    '{"a": 12345678901234567890}',
  ),
  extra: fc.constantFrom(undefined, { id: 'other', signature: '\ud83c' }),
});
const anyMessage: fc.Arbitrary<Message> = fc.oneof(
  fc.record({ role: fc.constant('user' as const), kind: fc.constant('task' as const), text }),
  fc.record({
    role: fc.constant('assistant' as const),
    text,
    toolCalls: fc.oneof(fc.constant(undefined), fc.array(anyCall, { minLength: 1, maxLength: 3 }), fc.constant([])),
    extra: fc.constantFrom(undefined, { role: 'system', content: 'x', reasoning_content: 'r', tool_calls: [] }),
  }),
  fc.record({ role: fc.constant('tool' as const), callId: id, name: fc.constantFrom('f', ''), text }),
);
const anyTraits: fc.Arbitrary<Partial<Traits>> = fc.record(
  {
    toolCallId: fc.constantFrom('any' as const, 'max40' as const, 'safe64' as const, 'alnum9' as const),
    alternate: fc.boolean(),
    userAfterTool: fc.boolean(),
    instructions: fc.constantFrom('system' as const, 'developer' as const, 'user' as const),
    emptyContent: fc.constantFrom('null' as const, 'text' as const),
    reasoningContent: fc.constantFrom('as_came' as const, 'on_calls' as const, 'required_on_calls' as const),
    sendExtra: fc.boolean(),
    toolName: fc.boolean(),
  },
  { requiredKeys: [] },
);

describe('any message soup', () => {
  it('is accepted by the strictest', () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 12 }), anyTraits, text, (messages, traits, instructions) => {
        const sent = wire(messages, traits, instructions);
        expect(strictComplaint(JSON.parse(JSON.stringify(sent)))).toBeNull();
        const roles = sent.map(({ role }) => role);
        expect(['user', 'tool']).toContain(roles.at(-1));
        expect(roles.find((role) => role !== 'system' && role !== 'developer')).toBe('user');
        if (traits.userAfterTool === false) expect(roles.join(' ')).not.toContain('tool user');
        if (traits.alternate) expect(roles.join(' ')).not.toMatch(/user user/);
        const ids = sent
          .flatMap((m) => (Array.isArray(m['tool_calls']) ? m['tool_calls'] : []))
          .map((c: JsonObject) => c['id']);
        if (traits.toolCallId === 'alnum9') for (const one of ids) expect(one).toMatch(/^[a-zA-Z0-9]{9}$/);
        if (traits.toolCallId === 'safe64') for (const one of ids) expect(one).toMatch(/^[\w-]{1,64}$/);
      }),
      { numRuns: 1500 },
    );
  });

  it('is the same when it is made valid twice', () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 12 }), (messages) => {
        const once = normalise(messages);
        expect(normalise(once)).toEqual(once);
      }),
    );
  });
});

describe('pairing', () => {
  it('leaves a valid conversation as it is', () => {
    const valid = [user('go'), says('', call('a'), call('b')), result('a'), result('b'), user('more')];
    expect(normalise(valid)).toEqual(valid);
  });

  it.each<[string, Message[], string[]]>([
    [
      'a missing result',
      [user('go'), says('', call('a'), call('b')), result('b')],
      ['go', '> ', `a=${NO_RESULT}`, 'b=result of b'],
    ],
    [
      'results in another order',
      [user('go'), says('', call('a'), call('b')), result('b'), result('a')],
      ['go', '> ', 'a=result of a', 'b=result of b'],
    ],
    [
      'a user between call and result',
      [user('go'), says('', call('a')), user('hurry'), result('a')],
      ['go', '> ', 'a=result of a', 'hurry'],
    ],
    ['an orphan', [user('go'), result('z')], ['go', '(A result of f, whose call was left out:)\nresult of z']],
    [
      'a second result',
      [user('go'), says('', call('a')), result('a', '1'), result('a', '2')],
      ['go', '> ', 'a=1', '(A result of f, whose call was left out:)\n2'],
    ],
    [
      'an id used again later',
      [user('go'), says('', call('a')), result('a', '1'), says('', call('a')), result('a', '2')],
      ['go', '> ', 'a=1', '> ', 'a_2=2'],
    ],
    [
      'an id used twice at once',
      [user('go'), says('', call('a'), call('a')), result('a', '1'), result('a', '2')],
      ['go', '> ', 'a=1', 'a_2=2'],
    ],
    [
      'an id that the renaming would have taken',
      [user('go'), says('', call('a'), call('a'), call('a_2')), result('a', '1'), result('a', '2'), result('a_2', '3')],
      ['go', '> ', 'a=1', 'a_3=2', 'a_2=3'],
    ],
    ['empty assistant messages', [user('go'), says(''), says(' \n'), says('hm'), user('on')], ['go', '> hm', 'on']],
    ['empty texts', [user(''), says('', call('a')), result('a', '')], ['(empty message)', '> ', 'a=(no output)']],
    [
      'a beginning without a user',
      [says('', call('a')), result('a')],
      ['(Earlier messages were left out.)', '> ', 'a=result of a'],
    ],
    ['an end with the assistant', [user('go'), says('done')], ['go', '> done', 'Continue.']],
    ['nothing', [], ['Continue.']],
  ])('%s', (_, messages, expected) => {
    expect(shape(messages)).toEqual(expected);
  });
});

it.each([
  ['{"a": 1}', '{"a": 1}'],
  ['', '{}'],
  [' ', '{}'],
  ['[]', '{"_invalid_json":"[]"}'],
  ['null', '{"_invalid_json":"null"}'],
  ['{"a": 1', '{"_invalid_json":"{\\"a\\": 1"}'],
  ['{"a":"\\ud83c"}', '{"a":"\ufffd"}'],
  ['{"a":"\\ud83c\\udf0d"}', '{"a":"🌍"}'],
  ['{"a":12345678901234567890}', '{"a":12345678901234567890}'],
  [`{"a":${'['.repeat(50)}${']'.repeat(50)}}`, `{"a":${'['.repeat(50)}${']'.repeat(50)}}`],
  [`{"a":${'['.repeat(100)}${']'.repeat(100)}}`, `{"_invalid_json":"{\\"a\\":${'['.repeat(100)}${']'.repeat(100)}}"}`],
])('arguments %.60j are sent as %.60j', (json, sent) => {
  expect(objectArguments(json)).toBe(sent);
});

describe('for one server', () => {
  const talk = [user('go'), says('', call('call_1')), result('call_1'), user('stop')];

  it('says the instructions as system, developer or user', () => {
    expect(wire([user('go')], {}, 'be brief')).toEqual([
      { role: 'system', content: 'be brief' },
      { role: 'user', content: 'go' },
    ]);
    expect(wire([user('go')], { instructions: 'user' }, 'be brief')).toEqual([
      { role: 'user', content: 'be brief\n\ngo' },
    ]);
    expect(wire([user('go')], {}, ' ')).toEqual([{ role: 'user', content: 'go' }]);
  });

  it('Mistral: ids of nine, no user after a tool', () => {
    const sent = wireMessages(talk, '', traitsFor('https://api.mistral.ai/v1', 'mistral-small-latest'));
    expect(sent.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
    expect(sent[2]?.['tool_call_id']).toMatch(/^[a-zA-Z0-9]{9}$/);
    expect(sent[1]).toMatchObject({ tool_calls: [{ id: sent[2]?.['tool_call_id'] }] });
  });

  describe('Mistral: thinking that came in the content goes back in it', () => {
    const traits = traitsFor('https://api.mistral.ai/v1', 'magistral-medium-latest');
    const part = (text: string) => ({ type: 'thinking', thinking: [{ type: 'text', text }], closed: true });
    const thought = { role: 'assistant' as const, reasoning: 'Hm\ud83c.', extra: { thinking_in_content: true } };
    const cases: [string, Message, Partial<Traits>, unknown][] = [
      ['with a text', { ...thought, text: 'A.' }, {}, [part('Hm\ufffd.'), { type: 'text', text: 'A.' }]],
      ['with calls alone', { ...thought, text: '', toolCalls: [call('a')] }, {}, [part('Hm\ufffd.')]],
      ['not where it came otherwise', { ...thought, text: 'A.', extra: {} }, {}, 'A.'],
      ['not where there is none any more', { ...thought, text: 'A.', reasoning: ' ' }, {}, 'A.'],
      ['not to a server that takes none', { ...thought, text: 'A.' }, { thinkingParts: false }, 'A.'],
    ];
    it.each(cases)('%s', (_, message, more, content) => {
      const sent = wireMessages([user('go'), message, result('a'), user('on')], '', { ...traits, ...more });
      expect(sent[1]?.['content']).toEqual(content);
      expect(JSON.stringify(sent)).not.toContain('thinking_in_content');
    });
  });

  it('keeps what a provider wants back, but nothing that would displace our own', () => {
    const answered: Message = {
      role: 'assistant',
      text: '',
      toolCalls: [{ ...call('a'), extra: { extra_content: { s: 1 }, type: 'x' } }],
      extra: { reasoning_details: [{ signature: 's' }], role: 'system' },
    };
    const [, sent] = wire([user('go'), answered, result('a')]);
    expect(sent).toEqual({
      role: 'assistant',
      content: null,
      reasoning_details: [{ signature: 's' }],
      tool_calls: [{ extra_content: { s: 1 }, id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
    });
    expect(wire([user('go'), answered, result('a')], { sendExtra: false })[1]).not.toHaveProperty('reasoning_details');
    expect(wire([user('go'), answered, result('a')], { withoutExtra: ['reasoning_details'] })[1]).not.toHaveProperty(
      'reasoning_details',
    );
  });

  it('DeepSeek: reasoning_content on tool turns', () => {
    const traits = traitsFor('https://api.deepseek.com', 'deepseek-reasoner');
    const extra = { reasoning_content: 'because' };
    const sent = wireMessages(
      [
        user('go'),
        { ...says('', call('a')), extra } as Message,
        result('a'),
        { ...says('done'), extra } as Message,
        user('on'),
      ],
      '',
      traits,
    );
    expect(sent.map((m) => m['reasoning_content'])).toEqual([undefined, 'because', undefined, undefined, undefined]);
    const required = { ...traits, reasoningContent: 'required_on_calls' as const };
    expect(wireMessages([user('go'), says('', call('a')), result('a')], '', required)[1]?.['reasoning_content']).toBe(
      '',
    );
  });
});

describe('the body', () => {
  const tools = [{ name: 'f', description: 'd', parameters: { type: 'object', properties: {} }, strict: true }];
  const base = { model: 'm', instructions: 'i', messages: [user('go')], tools, toolChoice: 'auto' as const };

  it('caps the output under the name that the model knows', () => {
    const body = (model: string, url = 'https://api.openai.com/v1') =>
      requestBody({ ...base, model, maxOutputTokens: 9 }, traitsFor(url, model));
    expect(body('gpt-5-mini')).toMatchObject({ max_completion_tokens: 9 });
    expect(body('o4-mini', 'http://localhost:4000')).toMatchObject({ max_completion_tokens: 9 });
    expect(body('openai/gpt-oss-20b', 'http://localhost:4000')).toMatchObject({ max_tokens: 9 });
    expect(
      requestBody({ ...base, maxOutputTokens: 9, parameters: { max_completion_tokens: 5 } }, DEFAULT_TRAITS),
    ).toMatchObject({ max_tokens: 5 });
    expect(requestBody({ ...base, maxOutputTokens: 0.2 }, DEFAULT_TRAITS)['max_tokens']).toBe(1);
  });

  it('puts parameters in as they are, but not over the conversation', () => {
    const parameters = {
      temperature: 0.2,
      messages: [],
      stream: false,
      stream_options: { x: 1 },
      tool_choice: 'required',
    };
    const body = requestBody({ ...base, parameters }, DEFAULT_TRAITS);
    expect(body).toMatchObject({
      temperature: 0.2,
      stream: true,
      stream_options: { x: 1, include_usage: true },
      tool_choice: 'required',
    });
    expect(body['messages']).toHaveLength(2);
  });

  it('forbids calls in the way that the server knows', () => {
    const none = { ...base, toolChoice: 'none' as const, parameters: { tool_choice: 'required' } };
    expect(requestBody(none, DEFAULT_TRAITS)).toMatchObject({ tool_choice: 'none', tools: [{ type: 'function' }] });
    const without = requestBody(none, { ...DEFAULT_TRAITS, toolChoiceNone: false });
    expect(without).not.toHaveProperty('tools');
    expect(without).not.toHaveProperty('tool_choice');
    expect(requestBody({ ...base, tools: [] }, DEFAULT_TRAITS)).not.toHaveProperty('tools');
  });

  it('is strict where it may be', () => {
    expect(requestBody(base, DEFAULT_TRAITS)).toMatchObject({ tools: [{ function: { strict: true } }] });
    expect(JSON.stringify(requestBody(base, { ...DEFAULT_TRAITS, strictTools: false }))).not.toContain('strict');
  });
});
