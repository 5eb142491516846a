/** Prices, windows and estimates. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contextWindowOf } from '../../src/models/context-window.js';
import { costUsd } from '../../src/models/cost.js';
import { estimateMessages, estimateTokens } from '../../src/models/estimate.js';
import { PRICE_LIST } from '../../src/models/price-list.js';
import { priceOf } from '../../src/models/prices.js';

describe('prices', () => {
  it('finds a model behind a maker, a date and "latest"', () => {
    const price = PRICE_LIST['gpt-5-mini'];
    for (const name of ['gpt-5-mini', 'openai/gpt-5-mini', 'gpt-5-mini-2025-08-07', 'GPT-5-mini-latest']) {
      expect(priceOf(name)).toBe(price);
    }
  });

  it.each(['gpt-5-unheard-of', 'scripted', '', '__proto__', 'openai/gpt-5-mini:free', 'constructor'])(
    'knows none of %j',
    (name) => {
      expect(priceOf(name)).toBeUndefined();
    },
  );

  it('lets overrides win', () => {
    const own = { input: 1, output: 2 };
    expect(priceOf('gpt-5', { 'gpt-5': own })).toBe(own);
    expect(priceOf('mine', { mine: own })).toBe(own);
  });

  it('counts cached input once, at its own rate', () => {
    const usage = { input: 1_000_000, cachedInput: 400_000, output: 100_000, reasoning: 50_000 };
    expect(costUsd({ input: 2, cachedInput: 0.5, output: 8 }, usage)).toBeCloseTo(1.2 + 0.2 + 0.8);
    expect(costUsd({ input: 2, output: 8 }, usage)).toBeCloseTo(2.8);
    expect(costUsd({ input: 2, output: 8 }, { input: 10, cachedInput: 99, output: 0 })).toBeCloseTo(0.00002);
  });

  it('counts thinking beside the output as output', () => {
    expect(costUsd({ input: 2, output: 8 }, { input: 0, output: 100_000, thinking: 200_000 })).toBeCloseTo(2.4);
  });

  it('takes the long rates for a long request', () => {
    const price = { input: 1, output: 1, long: { over: 100, input: 2, output: 3 } };
    expect(costUsd(price, { input: 100, output: 10 })).toBeCloseTo(110e-6);
    expect(costUsd(price, { input: 101, output: 10 })).toBeCloseTo(232e-6);
  });

  it('names a source and a date for each row, and no cached input is dearer', () => {
    for (const price of Object.values(PRICE_LIST)) {
      expect(price.asOf).toMatch(/^\d{4}-\d{2}-\d{2}$/);
      expect(URL.canParse(price.source)).toBe(true);
      expect(price.cachedInput ?? 0).toBeLessThanOrEqual(price.input);
      expect(price.output).toBeGreaterThan(price.input);
    }
  });
});

it.each([
  ['gpt-5-mini', 400_000],
  ['openai/gpt-4.1-mini', 1_047_576],
  ['gpt-4o-2024-08-06', 128_000],
  ['o3', 200_000],
  ['anthropic/claude-haiku-4.5', 200_000],
  ['something-else', 128_000],
  ['', 128_000],
])('the window of %j is %d', (model, tokens) => {
  expect(contextWindowOf(model)).toBe(tokens);
  expect(contextWindowOf(model, { [model]: 7 })).toBe(7);
});

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
