import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Limits } from '../../src/agents/limits.js';
import { isEnding } from '../../src/workflows/ending.js';
import {
  addCost,
  addUsage,
  deadlineOf,
  exhaustedLimit,
  limitsLeft,
  outputBudget,
  tokensOf,
} from '../../src/workflows/limits.js';
import { newRunState, type RunState } from '../../src/workflows/run-state.js';

const run = (limits: Limits, used: Partial<RunState> = {}): RunState => ({
  ...newRunState('task', 1000),
  limits,
  ...used,
});
const PRICE = { input: 1, output: 10, cachedInput: 0.1 };

describe('exhaustedLimit', () => {
  test.each<[string, Limits, Partial<RunState>, boolean, string | undefined]>([
    ['no limit', {}, { turns: 1e9, toolCalls: 1e9, costUsd: 1e9 }, false, undefined],
    ['below', { turns: 3 }, { turns: 2 }, false, undefined],
    ['turns', { turns: 3 }, { turns: 3 }, false, 'max_turns'],
    ['over turns, after they were lowered', { turns: 3 }, { turns: 9 }, false, 'max_turns'],
    ['the grace turn is not counted', { turns: 3 }, { turns: 3, graceTurns: 1 }, false, undefined],
    ['after the grace turn', { turns: 3 }, { turns: 4, graceTurns: 1 }, false, 'max_turns'],
    ['tokens', { tokens: 10 }, { usage: { input: 6, output: 4 } }, false, 'max_tokens'],
    ['usd', { usd: 0.5 }, { costUsd: 0.5 }, false, 'max_cost'],
    ['unknown cost', { usd: 0.5 }, { costUsd: null }, false, undefined],
    ['tool calls', { toolCalls: 1 }, { toolCalls: 1 }, false, 'max_tool_calls'],
    ['the deadline', { durationMs: 500 }, {}, true, 'deadline'],
    ['all at once', { turns: 1, tokens: 1 }, { turns: 1, usage: { input: 1, output: 0 } }, true, 'deadline'],
    ['all but the deadline', { turns: 1, tokens: 1 }, { turns: 1, usage: { input: 1, output: 0 } }, false, 'max_turns'],
  ])('%s', (_, limits, used, isPastDeadline, reason) => {
    expect(exhaustedLimit(run(limits, used), isPastDeadline)?.reason).toBe(reason);
  });
});

describe('outputBudget', () => {
  test('without a limit there is no cap', () => {
    expect(outputBudget(run({}), PRICE, 1e9)).toEqual({});
    expect(outputBudget(run({ turns: 1 }), undefined, 1e9)).toEqual({});
  });

  test('tokens: what is left after the input', () => {
    expect(outputBudget(run({ tokens: 100 }, { usage: { input: 20, output: 10 } }), undefined, 40)).toEqual({
      maxOutputTokens: 30,
    });
    expect(outputBudget(run({ tokens: 100 }), undefined, 99)).toEqual({ maxOutputTokens: 1 });
    expect(outputBudget(run({ tokens: 100 }), undefined, 100)).toEqual({ status: 'exhausted', reason: 'max_tokens' });
  });

  test('usd: what the rest of the money buys', () => {
    expect(outputBudget(run({ usd: 0.001 }), PRICE, 500)).toEqual({ maxOutputTokens: 50 });
    expect(outputBudget(run({ usd: 0.001 }), PRICE, 995)).toEqual({ status: 'exhausted', reason: 'max_cost' });
    expect(outputBudget(run({ usd: 0.001 }, { costUsd: 0.002 }), PRICE, 1)).toEqual({
      status: 'exhausted',
      reason: 'max_cost',
    });
  });

  test('the smaller cap; a model that costs nothing has none by money', () => {
    expect(outputBudget(run({ usd: 0.001, tokens: 510 }), PRICE, 500)).toEqual({ maxOutputTokens: 10 });
    expect(outputBudget(run({ usd: 0.001 }), { input: 0, output: 0 }, 500)).toEqual({});
  });

  test('usd: over the threshold, at the long rates', () => {
    const price = { ...PRICE, long: { over: 500, input: 2, output: 20 } };
    expect(outputBudget(run({ usd: 0.01 }), price, 500)).toEqual({ maxOutputTokens: 950 });
    expect(outputBudget(run({ usd: 0.01 }), price, 1000)).toEqual({ maxOutputTokens: 400 });
    expect(outputBudget(run({ usd: 0.001 }), price, 501)).toEqual({ status: 'exhausted', reason: 'max_cost' });
  });

  test('a call that keeps to its cap never passes a limit', () => {
    const money = fc.double({ min: 1e-6, max: 100, noNaN: true });
    const rate = fc.double({ min: 0, max: 100, noNaN: true });
    const rates = { input: rate, output: rate };
    fc.assert(
      fc.property(
        fc.record({ tokens: fc.integer({ min: 1, max: 1e7 }), usd: money }),
        fc.record({ input: fc.nat(1e6), output: fc.nat(1e6) }),
        money,
        fc.nat(1e6),
        fc.record({ ...rates, long: fc.record({ ...rates, over: fc.nat(1e6) }) }),
        (limits, usage, costUsd, input, price) => {
          const budget = outputBudget(run(limits, { usage, costUsd }), price, input);
          if (isEnding(budget)) return;
          const output = budget.maxOutputTokens ?? 0;
          expect(output).toBeGreaterThanOrEqual(1);
          expect(Number.isSafeInteger(output)).toBe(true);
          expect(usage.input + usage.output + input + output).toBeLessThanOrEqual(limits.tokens);
          const cost = addCost(costUsd, { input, output }, price) ?? 0;
          expect(cost).toBeLessThanOrEqual(limits.usd * (1 + 1e-9));
        },
      ),
    );
  });
});

test('usage adds up; what is not told stays absent; an estimate marks the sum', () => {
  expect(addUsage({ input: 1, output: 2 }, { input: 3, output: 4 })).toEqual({ input: 4, output: 6 });
  expect(
    addUsage(
      { input: 1, output: 2, cachedInput: 1, thinking: 5 },
      { input: 3, output: 4, reasoning: 2, thinking: 1, estimated: true },
    ),
  ).toEqual({
    input: 4,
    output: 6,
    cachedInput: 1,
    reasoning: 2,
    thinking: 6,
    estimated: true,
  });
  expect(tokensOf({ input: 4, output: 6, reasoning: 2, thinking: 5 })).toBe(15);
});

test('cost: cached input is cheaper where its price is known; unknown stays unknown', () => {
  expect(addCost(0, { input: 1e6, output: 1e6 }, PRICE)).toBeCloseTo(11);
  expect(addCost(1, { input: 1e6, output: 0, cachedInput: 1e6 }, PRICE)).toBeCloseTo(1.1);
  expect(addCost(1, { input: 1e6, output: 0, cachedInput: 1e6 }, { input: 1, output: 10 })).toBeCloseTo(2);
  const long = { ...PRICE, long: { over: 1e6, input: 2, output: 20, cachedInput: 0.2 } };
  expect(addCost(0, { input: 1e6, output: 1e6 }, long)).toBeCloseTo(11);
  expect(addCost(1, { input: 2e6, output: 1e6, cachedInput: 1e6 }, long)).toBeCloseTo(1 + 2 + 0.2 + 20);
  expect(addCost(1, { input: 1, output: 1 }, undefined)).toBeNull();
  expect(addCost(null, { input: 1, output: 1 }, PRICE)).toBeNull();
});

test('limitsLeft: each limit in force, never below 0; the grace turn is not counted', () => {
  const used = { turns: 5, graceTurns: 1, usage: { input: 9, output: 9 }, costUsd: null, toolCalls: 2 } as const;
  expect(limitsLeft(run({ turns: 4, tokens: 10, usd: 1, durationMs: 50, toolCalls: 3 }, used), 1020)).toEqual({
    turns: { limit: 4, left: 0 },
    tokens: { limit: 10, left: 0 },
    usd: { limit: 1, left: 1 },
    durationMs: { limit: 50, left: 30 },
    toolCalls: { limit: 3, left: 1 },
  });
  expect(limitsLeft(run({}), 0)).toEqual({});
});

test('there is no deadline without a limit', () => {
  expect(deadlineOf(run({}))).toBeUndefined();
  expect(deadlineOf(run({ durationMs: 500 }))).toBe(1500);
});
