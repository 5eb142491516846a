import fc from 'fast-check';
import { expect, test } from 'vitest';
import { extendHash } from '../../src/activities/conversation-hash.js';
import type { Message } from '../../src/conversation/message.js';

const text = fc.string({ unit: 'binary' });
const message: fc.Arbitrary<Message> = fc.oneof(
  fc.record({ role: fc.constant('user' as const), kind: fc.constant('task' as const), text }),
  fc.record({ role: fc.constant('tool' as const), callId: text, name: text, text }),
  fc.record({
    role: fc.constant('assistant' as const),
    text,
    extra: fc.dictionary(text, fc.oneof(text, fc.integer())),
  }),
);

test('extending a head is hashing from the beginning', () => {
  fc.assert(
    fc.property(fc.array(message), fc.array(message), (before, after) => {
      expect(extendHash(extendHash('', before), after)).toBe(extendHash('', [...before, ...after]));
    }),
  );
});

test('survives the data converter: JSON there and back', () => {
  fc.assert(
    fc.property(fc.array(message), (messages) => {
      const travelled = JSON.parse(JSON.stringify(messages)) as Message[];
      expect(extendHash('', travelled)).toBe(extendHash('', messages));
    }),
  );
});

test('tells order, boundaries and content apart', () => {
  const say = (text: string): Message => ({ role: 'user', kind: 'task', text });
  const heads = [[], [say('')], [say('a'), say('b')], [say('b'), say('a')], [say('ab')], [say('a'), say('b'), say('')]];
  expect(new Set(heads.map((messages) => extendHash('', messages))).size).toBe(heads.length);
  expect(extendHash('', [])).toBe('');
  expect(extendHash('', [say('a')])).toMatch(/^[\w-]{22}$/);
});
