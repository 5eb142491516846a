import fc from 'fast-check';
import { expect, test } from 'vitest';
import { exhaustedLimit } from '../../src/workflows/limits.js';
import { endsMessageOnly, limitsInForce, openMessage } from '../../src/workflows/open-message.js';
import { newRunState, type RunState } from '../../src/workflows/run-state.js';

const session = (limits = {}): { idleTimeoutMs: number; limits: object } => ({ idleTimeoutMs: 1000, limits });

function used(more: Partial<RunState>): RunState {
  return { ...newRunState('Go.', 1000), ...more };
}

test('a message has its own limits from where the run stands, and never more than the run has', () => {
  const state = used({
    turns: 10,
    toolCalls: 3,
    usage: { input: 500, output: 100 },
    costUsd: 2,
    limits: { turns: 12 },
  });
  openMessage(state, 'm', 61_000);
  const own = session({ turns: 5, tokens: 1000, usd: 0.5, toolCalls: 2, durationMs: 30_000 });
  expect(limitsInForce(state, own)).toEqual({ turns: 12, tokens: 1600, usd: 2.5, toolCalls: 5, durationMs: 90_000 });
  expect(limitsInForce(state, undefined)).toEqual({ turns: 12 });
  expect(limitsInForce({ ...state, message: null }, own)).toEqual({ turns: 12 });
});

test('which end is the message’s alone', () => {
  const state = used({ limits: { turns: 12 } });
  openMessage(state, null, 1000);
  const only = (ending: Parameters<typeof endsMessageOnly>[2], own = session({ turns: 5 })): boolean =>
    endsMessageOnly(state, own, ending);
  expect(only({ status: 'completed', reason: 'answered' })).toBe(true);
  expect(only({ status: 'completed', reason: 'tool_ended' })).toBe(false);
  expect(only({ status: 'exhausted', reason: 'max_turns' })).toBe(true);
  expect(only({ status: 'exhausted', reason: 'max_turns' }, session({ turns: 12 }))).toBe(false);
  expect(only({ status: 'exhausted', reason: 'max_tokens' })).toBe(false);
  expect(only({ status: 'stopped', reason: 'stuck' })).toBe(true);
  expect(only({ status: 'stopped', reason: 'force_finished' })).toBe(false);
  expect(only({ status: 'failed', reason: 'model_unavailable' })).toBe(true);
  expect(only({ status: 'failed', reason: 'auth' })).toBe(false);
  expect(only({ status: 'failed', reason: 'internal' })).toBe(false);
  expect(only({ status: 'cancelled', reason: 'cancelled' })).toBe(false);
  expect(endsMessageOnly(state, undefined, { status: 'completed', reason: 'answered' })).toBe(false);
});

test('whatever both limits are, the end is the run’s exactly where the run’s own limit is reached', () => {
  const limit = fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined });
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 20 }),
      fc.integer({ min: 0, max: 20 }),
      limit,
      limit,
      (before, since, whole, own) => {
        const state = used({ turns: before, limits: whole === undefined ? {} : { turns: whole } });
        openMessage(state, null, 1000);
        state.turns += since;
        const of = session(own === undefined ? {} : { turns: own });
        const ending = exhaustedLimit({ ...state, limits: limitsInForce(state, of) }, false);
        const wholeReached = whole !== undefined && state.turns >= whole;
        const ownReached = own !== undefined && since >= own;
        expect(ending !== undefined).toBe(wholeReached || ownReached);
        if (ending === undefined) return;
        // At most one turn more than a limit allows is ever made, so that of both reached at once, the run's is the lower.
        const together = whole !== undefined && own !== undefined && before + own < whole;
        if (wholeReached !== ownReached) expect(endsMessageOnly(state, of, ending)).toBe(!wholeReached);
        else expect(endsMessageOnly(state, of, ending)).toBe(together);
      },
    ),
  );
});
