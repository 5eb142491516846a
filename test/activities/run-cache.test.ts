import { describe, expect, test } from 'vitest';
import { RunCache } from '../../src/activities/run-cache.js';
import type { Message } from '../../src/conversation/message.js';

const say = (chars: number): Message => ({ role: 'user', kind: 'task', text: 'x'.repeat(chars) });
const MB = 1_000_000;

describe('conversations', () => {
  test('are found by their head, until a grandchild comes', () => {
    const cache = new RunCache(MB);
    cache.keepConversation('a', [say(1)], '');
    cache.keepConversation('b', [say(1), say(2)], 'a');
    // A retry of the turn that made b needs a.
    expect(cache.conversation('a')).toHaveLength(1);
    cache.keepConversation('c', [say(1), say(2), say(3)], 'b');
    expect(cache.conversation('a')).toBeUndefined();
    expect(cache.conversation('b')).toHaveLength(2);
    expect(cache.conversation('c')).toHaveLength(3);
  });

  test('a retry that answers the same or otherwise loses nothing', () => {
    const cache = new RunCache(MB);
    cache.keepConversation('a', [say(1)], '');
    cache.keepConversation('b', [say(1), say(2)], 'a');
    cache.keepConversation('b', [say(1), say(2)], 'a');
    cache.keepConversation('b2', [say(1), say(3)], 'a');
    expect(['a', 'b', 'b2'].map((head) => cache.conversation(head)?.length)).toEqual([1, 2, 2]);
  });

  test('a parent that nobody knows, or that is the head itself, harms nothing', () => {
    const cache = new RunCache(MB);
    cache.keepConversation('a', [say(1)], 'lost');
    cache.keepConversation('a', [say(1)], 'a');
    cache.keepConversation('a', [say(1)], 'a');
    expect(cache.conversation('a')).toHaveLength(1);
  });

  test('are bounded by bytes: the one used longest ago goes first', () => {
    const cache = new RunCache(MB);
    cache.keepConversation('a', [say(200_000)], '');
    cache.keepConversation('b', [say(200_000)], '');
    expect(cache.conversation('a')).toBeDefined();
    cache.keepConversation('c', [say(200_000)], '');
    expect(cache.conversation('b')).toBeUndefined();
    expect(cache.conversation('a')).toBeDefined();
    expect(cache.conversation('c')).toBeDefined();
  });

  test.each<[string, Message]>([
    ['text', say(MB)],
    ['reasoning', { role: 'assistant', text: '', reasoning: 'x'.repeat(MB) }],
    ['unknown fields', { role: 'assistant', text: '', extra: { signature: 'x'.repeat(MB) } }],
    ['arguments', { role: 'assistant', text: '', toolCalls: [{ id: 'a', name: 'f', arguments: 'x'.repeat(MB) }] }],
  ])('%s counts: what is larger than the cache is not kept', (_, message) => {
    const cache = new RunCache(MB);
    cache.keepConversation('small', [say(1)], '');
    cache.keepConversation('large', [message], '');
    expect(cache.conversation('large')).toBeUndefined();
    expect(cache.conversation('small')).toBeDefined();
  });
});
