/** However the conversation is sent, each message is told once. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { NewMessages } from '../../src/watch/new-messages.js';

test('each message once, in order, from whatever head it is sent and however often', () => {
  const step = fc.record({ more: fc.array(fc.constantFrom('a', 'b'), { maxLength: 3 }), back: fc.nat({ max: 6 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 10 }), (steps) => {
      const messages = new NewMessages<string>();
      const conversation: string[] = [];
      const told: string[] = [];
      let sent = 0;
      for (const { more, back } of steps) {
        conversation.push(...more);
        // A call sends at least what no call has sent.
        const base = Math.max(0, sent - back);
        told.push(...messages.take(base, conversation.slice(base)));
        sent = conversation.length;
      }
      expect(told).toEqual(conversation);
    }),
  );
});

test('what was taken back is forgotten, and what takes its place is new', () => {
  const messages = new NewMessages<string>();
  messages.take(0, ['task', 'part', 'go on']);
  expect(messages.take(0, ['task', 'whole', 'steering'])).toEqual(['whole', 'steering']);
});

test('a replaced conversation has nothing new once, and only once', () => {
  const messages = new NewMessages<string>();
  messages.take(0, ['a', 'b', 'c']);
  messages.replaced();
  expect(messages.take(0, ['a', 'summary', 'c'])).toEqual([]);
  expect(messages.take(0, ['a', 'summary', 'c', 'd'])).toEqual(['d']);
  messages.reset(['x']);
  expect(messages.take(0, ['x', 'y'])).toEqual(['y']);
});
