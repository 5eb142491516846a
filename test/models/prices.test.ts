/** The lists of what is known of models: prices and windows. */
import { describe, expect, it } from 'vitest';
import { contextWindowOf } from '../../src/models/context-window.js';
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
});
