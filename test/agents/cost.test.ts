/** What a model call costs, and whether that is known. */
import { expect, it } from 'vitest';
import { costUsd, unpricedModel } from '../../src/agents/cost.js';

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

it('looks for an unknown price at every model that a run may use', () => {
  const PRICE = { input: 1, output: 10 };
  const spec = {
    model: { name: 'a', attempts: 1, timeoutMs: 1, firstEventTimeoutMs: 1, idleTimeoutMs: 1 },
    fallbackModels: ['b'],
    context: { window: 1, compactAt: 1, keepTurns: 1, compactModel: 'c' },
  };
  expect(unpricedModel({ ...spec, prices: { a: PRICE, b: PRICE, c: PRICE } })).toBeUndefined();
  expect(unpricedModel({ ...spec, prices: { b: PRICE, c: PRICE } })).toBe('a');
  expect(unpricedModel({ ...spec, prices: { a: PRICE, c: PRICE } })).toBe('b');
  expect(unpricedModel({ ...spec, prices: { a: PRICE, b: PRICE } })).toBe('c');
});
