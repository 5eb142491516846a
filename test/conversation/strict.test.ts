/** The rules of `strictComplaint`, each with its neighbours; and that no good conversation is ever refused. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { strictComplaint } from '../../src/conversation/strict.js';

const system = { role: 'system', content: 'Be brief.' };
const user = { role: 'user', content: 'Go.' };
const call = (id: unknown, args: unknown = '{}', name: unknown = 'look') => ({
  id,
  type: 'function',
  function: { name, arguments: args },
});
const asks = (...ids: string[]) => ({ role: 'assistant', content: null, tool_calls: ids.map((id) => call(id)) });
const result = (id: unknown, content: unknown = 'seen') => ({ role: 'tool', tool_call_id: id, content });
const said = (content: unknown) => ({ role: 'assistant', content });

describe('what is accepted', () => {
  it.each<[string, unknown[]]>([
    ['a first request', [system, user]],
    ['a developer message first', [{ role: 'developer', content: 'Be brief.' }, user]],
    ['calls with their results in order', [system, user, asks('a', 'b'), result('a'), result('b'), said('Done.')]],
    ['text and calls together', [user, { ...asks('a'), content: 'Looking.' }, result('a')]],
    ['calls with empty text', [user, { ...asks('a'), content: '' }, result('a', '')]],
    ['fields of the provider', [user, { ...asks('a'), reasoning_content: 'Hm.' }, { ...result('a'), name: 'look' }]],
    [
      'parts',
      [
        { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:' } }] },
        said([{ type: 'text', text: 'A cat.' }]),
      ],
    ],
    ['a refusal', [user, said([{ type: 'refusal', refusal: 'No.' }])]],
    ['steering after results', [user, asks('a'), result('a'), { role: 'user', content: '[STEERING] Stop 🛑' }]],
  ])('%s', (_name, messages) => {
    expect(strictComplaint(messages)).toBeNull();
  });
});

describe('what is refused', () => {
  it.each<[string, unknown, RegExp]>([
    ['no list', 'hello', /^messages: this is of type string/],
    ['missing', undefined, /^messages: this is missing/],
    ['an empty list', [], /^messages: the list is empty/],
    ['a message that is no object', [user, 'x'], /^messages\[1\]: this is of type string/],
    ['an unknown role', [{ role: 'function', content: 'x' }], /^messages\[0\]: the role "function"/],
    ['a role from the prototype', [{ role: '__proto__', content: 'x' }], /role "__proto__" is unknown/],
    ['no role', [{ content: 'x' }], /the role missing is unknown/],
    ['a late system message', [user, system], /^messages\[1\]: a system message must be the first/],
    ['a second system message', [system, system, user], /^messages\[1\]/],
    ['a call without result at the end', [user, asks('a')], /^messages\[1\]: the call "a" has no result/],
    [
      'a call without result in the middle',
      [user, asks('a', 'b'), result('a'), user],
      /^messages\[3\]: .*"b" of messages\[1\]/,
    ],
    ['an answer where a result belongs', [user, asks('a'), said('Done.')], /^messages\[2\]: .*role "assistant"/],
    ['a result without call', [user, result('a')], /^messages\[1\]: .*nobody made/],
    ['a result before its call', [user, result('a'), asks('a')], /^messages\[1\]/],
    ['a result too late', [user, asks('a'), user, result('a')], /^messages\[2\]: .*"a"/],
    ['a second result', [user, asks('a'), result('a'), result('a')], /^messages\[3\]: .*second/],
    ['a stray second result', [user, asks('a'), result('a'), said('x'), result('a')], /^messages\[4\]: .*second/],
    ['results out of order', [user, asks('a', 'b'), result('b'), result('a')], /^messages\[2\]: .*order/],
    ['an id repeated in one message', [user, asks('a', 'a'), result('a'), result('a')], /^messages\[1\]: .*repeated/],
    ['an id repeated later', [user, asks('a'), result('a'), asks('a'), result('a')], /^messages\[3\]: .*repeated/],
    ['an empty answer', [user, said('')], /^messages\[1\]: .*empty/],
    ['an answer of null', [user, said(null)], /empty/],
    ['an answer without content', [user, { role: 'assistant' }], /empty/],
    ['an answer of whitespace', [user, said(' \n\t')], /empty/],
    ['an answer of empty parts', [user, said([{ type: 'text', text: ' ' }])], /empty/],
    ['an answer of thinking alone', [user, said([{ type: 'thinking', thinking: 'Hm.' }])], /empty/],
    [
      'an empty list of calls',
      [user, { role: 'assistant', content: 'x', tool_calls: [] }],
      /tool_calls is an empty list/,
    ],
    [
      'calls that are no list',
      [user, { role: 'assistant', content: 'x', tool_calls: {} }],
      /tool_calls is of type object/,
    ],
    ['calls of a user', [{ ...user, tool_calls: [call('a')] }], /a user message cannot have tool_calls/],
    ['an empty call id', [user, { ...asks(), tool_calls: [call('')] }, result('')], /tool_calls\[0\] has the id ""/],
    ['a call id that is a number', [user, { ...asks(), tool_calls: [call(7)] }], /has the id of type number/],
    [
      'a call without type',
      [user, { ...asks(), tool_calls: [{ ...call('a'), type: undefined }] }],
      /has the type missing/,
    ],
    ['a call without function', [user, { ...asks(), tool_calls: [{ id: 'a', type: 'function' }] }], /has no function/],
    ['a name with a space', [user, { ...asks(), tool_calls: [call('a', '{}', 'look up')] }], /names "look up"/],
    ['an empty name', [user, { ...asks(), tool_calls: [call('a', '{}', '')] }], /names ""/],
    ['arguments that lack a brace', [user, { ...asks(), tool_calls: [call('a', '{"x":1')] }], /not JSON/],
    ['empty arguments', [user, { ...asks(), tool_calls: [call('a', '')] }], /not JSON/],
    ['arguments that are a list', [user, { ...asks(), tool_calls: [call('a', '[]')] }], /no JSON object/],
    ['arguments that are null', [user, { ...asks(), tool_calls: [call('a', 'null')] }], /no JSON object/],
    ['arguments that are no string', [user, { ...asks(), tool_calls: [call('a', {})] }], /must be a JSON text/],
    ['a result without call id', [user, asks('a'), { role: 'tool', content: 'x' }], /tool_call_id is missing/],
    ['a user message without content', [{ role: 'user' }], /content of a user message is missing/],
    ['a result of null', [user, asks('a'), result('a', null)], /content of a tool message is null/],
    ['content that is a number', [{ role: 'user', content: 3 }], /content is of type number/],
    ['content that is an object', [user, asks('a'), result('a', { ok: true })], /content is of type object/],
    ['content that is an empty list', [{ role: 'user', content: [] }], /empty list/],
    ['a part that is a string', [{ role: 'user', content: ['x'] }], /content\[0\] is of type string/],
    ['a text part without text', [{ role: 'user', content: [{ type: 'text' }] }], /has no text/],
    [
      'an image in a result',
      [user, asks('a'), result('a', [{ type: 'image_url', image_url: { url: 'data:' } }])],
      /image_url/,
    ],
    ['a lone surrogate in a text', [{ role: 'user', content: 'cut \ud83d' }], /^messages\[0\]: .*surrogate/],
    ['a lone surrogate deep inside', [user, { ...said('x'), extra: [{ '\ude00': 1 }] }], /^messages\[1\]: .*surrogate/],
    [
      'a surrogate escaped in arguments',
      [user, { ...asks(), tool_calls: [call('a', '{"x":"\\ud800"}')] }],
      /lone surrogate/,
    ],
  ])('%s', (_name, messages, complaint) => {
    expect(strictComplaint(messages)).toMatch(complaint);
  });

  it('in one short sentence, whatever is quoted', () => {
    const long = `${'x'.repeat(79)}😀${'y'.repeat(5000)}`;
    const complaint = strictComplaint([user, { ...asks(), tool_calls: [call('a', long)] }]) ?? '';
    expect(complaint.length).toBeLessThan(300);
    expect(complaint).not.toMatch(/\p{Surrogate}/u);
  });
});

/** Whole conversations: each turn asks for some calls, or says something, or is said something. */
const turns = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('calls' as const), count: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ kind: fc.constant('said' as const), text: fc.string({ unit: 'grapheme', minLength: 1 }) }),
    fc.record({ kind: fc.constant('user' as const), text: fc.string({ unit: 'grapheme' }) }),
  ),
  { maxLength: 12 },
);
const conversation = turns.map((list) => {
  const messages: Record<string, unknown>[] = [system, user];
  for (const [turn, step] of list.entries()) {
    if (step.kind === 'calls') {
      const ids = Array.from({ length: step.count }, (_, at) => `c${turn}_${at}`);
      messages.push(asks(...ids), ...ids.map((id) => result(id)));
    } else if (step.kind === 'said') {
      messages.push(said(`.${step.text}`));
    } else {
      messages.push({ role: 'user', content: step.text });
    }
  }
  return messages;
});

describe('over any conversation', () => {
  it('a whole one is accepted', () => {
    fc.assert(fc.property(conversation, (messages) => strictComplaint(messages) === null));
  });

  it('one that lost, doubled or moved a message of a call is refused', () => {
    const damage = fc.record({ at: fc.nat(), how: fc.constantFrom('drop', 'double', 'last') });
    fc.assert(
      fc.property(conversation, damage, (messages, { at, how }) => {
        const places = messages.flatMap((m, i) => (m['role'] === 'tool' || m['tool_calls'] !== undefined ? [i] : []));
        const place = places[at % places.length];
        fc.pre(place !== undefined && !(how === 'last' && place === messages.length - 1));
        const hit = messages[place ?? 0];
        const rest = messages.filter((_, i) => i !== place);
        const damaged =
          how === 'drop' ? rest : how === 'last' ? [...rest, hit] : messages.flatMap((m) => (m === hit ? [m, m] : [m]));
        return strictComplaint(damaged) !== null;
      }),
    );
  });

  it('anything at all gets a sentence or null, never a throw', () => {
    const circular: Record<string, unknown> = { ...user };
    circular['self'] = circular;
    expect(strictComplaint([circular])).toBeNull();
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true }), (value) => {
        for (const messages of [value, [value], [{ ...user, extra: value }], [{ ...user, content: value }]]) {
          expect(strictComplaint(messages)).not.toBe('');
        }
      }),
    );
  });
});
