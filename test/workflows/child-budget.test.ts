/** Carving budgets for child runs, and settling them: pure. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { carve, withChild, type Budget } from '../../src/workflows/child-budget.js';

const parent = (limits: Budget, input = 0, costUsd: number | null = 0) => ({
  limits,
  usage: { input, output: 0 },
  costUsd,
});

test('calls of one answer and the parent get equal shares of what is left', () => {
  expect(carve(parent({ tokens: 1000, usd: 2 }, 200, 1), [], 3, {})).toEqual({ tokens: 200, usd: 0.25 });
  expect(carve(parent({ tokens: 1000 }, 200), [{ tokens: 200 }], 2, {})).toEqual({ tokens: 200 });
  expect(carve(parent({ tokens: 1000 }, 200), [{ tokens: 200 }, { tokens: 200 }], 1, {})).toEqual({ tokens: 200 });
});

test('own limits, where they are lower, win, and leave more for the siblings', () => {
  expect(carve(parent({ tokens: 1000 }), [], 1, { tokens: 50, usd: 1 })).toEqual({ tokens: 50, usd: 1 });
  expect(carve(parent({ tokens: 1000 }), [{ tokens: 100 }], 2, {})).toEqual({ tokens: 300 });
});

test('without limits there are none; without anything left there is no child', () => {
  expect(carve(parent({}), [{ tokens: 5 }], 2, {})).toEqual({});
  expect(carve(parent({ tokens: 10 }, 10), [], 1, {})).toMatchObject({ reason: 'max_tokens' });
  expect(carve(parent({ usd: 1 }, 0, 1), [], 1, { usd: 5 })).toMatchObject({ reason: 'max_cost' });
});

test('however many calls there are, and however much earlier ones use up: together never more than what was left', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 100_000 }),
      fc.array(fc.record({ own: fc.option(fc.integer({ min: 1, max: 50_000 })), endsFirst: fc.boolean() }), {
        minLength: 1,
        maxLength: 12,
      }),
      (tokens, calls) => {
        let used = 0;
        const open: Budget[] = [];
        calls.forEach(({ own, endsFirst }, index) => {
          const budget = carve(
            parent({ tokens }, used),
            open,
            calls.length - index,
            own === null ? {} : { tokens: own },
          );
          if ('status' in budget) return;
          // A child that ends before the next one begins has used all that it was given.
          if (endsFirst) used += budget.tokens ?? 0;
          else open.push(budget);
        });
        expect(open.reduce((sum, budget) => sum + (budget.tokens ?? 0), used)).toBeLessThan(tokens);
      },
    ),
  );
});

test('a child is settled by what it used; where nobody knows, by all that it was allowed to', () => {
  const used = { usage: { input: 10, output: 1 }, costUsd: 1 };
  expect(withChild(used, { usage: { input: 5, output: 2 }, costUsd: 0.5 }, { tokens: 100 })).toEqual({
    usage: { input: 15, output: 3 },
    costUsd: 1.5,
  });
  expect(withChild(used, { usage: { input: 5, output: 2 }, costUsd: null }, {}).costUsd).toBeNull();
  expect(withChild(used, null, { tokens: 100, usd: 2 })).toEqual({
    usage: { input: 110, output: 1, estimated: true },
    costUsd: 3,
  });
  expect(withChild(used, null, {}).costUsd).toBeNull();
});
