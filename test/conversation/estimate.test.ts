/** Tokens by estimate. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { estimateMessages, estimateTokens } from '../../src/conversation/estimate.js';

describe('estimates', () => {
  it.each([
    ['', 0],
    ['a'.repeat(35), 10],
    ['日本語', 4],
    ['🌍', 3],
  ])('%j', (text, tokens) => {
    expect(estimateTokens(text)).toBe(tokens);
  });

  it('grow with the text, and count everything that is sent', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
        expect(estimateTokens(a + b)).toBeGreaterThanOrEqual(estimateTokens(a));
        expect(estimateTokens(a + b)).toBeLessThanOrEqual(estimateTokens(a) + estimateTokens(b));
      }),
    );
    const call = { id: 'a', name: 'f', arguments: '{"x":1}' };
    const plain = estimateMessages([{ role: 'assistant', text: 'a' }]);
    const withCall = estimateMessages([{ role: 'assistant', text: 'a', toolCalls: [call] }]);
    const withExtra = estimateMessages([
      { role: 'assistant', text: 'a', toolCalls: [call], extra: { reasoning: 'long' } },
    ]);
    expect(plain).toBeLessThan(withCall);
    expect(withCall).toBeLessThan(withExtra);
  });
});
