import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { watchStream } from '../../src/activities/stream-limits.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const LIMITS = { timeoutMs: 10_000, firstEventTimeoutMs: 2000, idleTimeoutMs: 1000 };
const open = () => new AbortController().signal;

test('no first event: ended at its limit, with a sentence', () => {
  const limits = watchStream(LIMITS, 'm', open());
  vi.advanceTimersByTime(1999);
  expect(limits.signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(limits.signal.aborted).toBe(true);
  expect(limits.exceeded).toMatchObject({ failureClass: 'stalled', message: 'm sent nothing for 2 seconds.' });
  expect(limits.signal.reason).toBe(limits.exceeded);
});

test('silence between events counts from the last one', () => {
  const limits = watchStream(LIMITS, 'm', open());
  for (let n = 0; n < 5; n += 1) {
    vi.advanceTimersByTime(900);
    limits.onEvent();
  }
  expect(limits.signal.aborted).toBe(false);
  vi.advanceTimersByTime(1000);
  expect(limits.exceeded?.message).toBe('m fell silent for 1 seconds in the middle of its answer.');
});

test('a stream that never falls silent ends at the whole limit', () => {
  const limits = watchStream(LIMITS, 'm', open());
  for (let n = 0; n < 10; n += 1) {
    limits.onEvent();
    vi.advanceTimersByTime(999);
  }
  expect(limits.signal.aborted).toBe(false);
  limits.onEvent();
  vi.advanceTimersByTime(10);
  expect(limits.exceeded?.message).toBe('m did not end its answer within 10 seconds.');
});

test('the first limit that is passed is the one that is told', () => {
  const limits = watchStream(LIMITS, 'm', open());
  vi.advanceTimersByTime(60_000);
  expect(limits.exceeded?.message).toContain('sent nothing');
});

test('an abort from outside passes through and is no limit', () => {
  const controller = new AbortController();
  const limits = watchStream(LIMITS, 'm', controller.signal);
  controller.abort(new Error('cancelled'));
  expect(limits.signal.reason).toBe(controller.signal.reason);
  expect(limits.exceeded).toBeUndefined();
});

test('after its end nothing starts again: no timer is left', () => {
  const limits = watchStream(LIMITS, 'm', open());
  limits.onEvent();
  limits.stop();
  limits.onEvent();
  expect(vi.getTimerCount()).toBe(0);
  vi.advanceTimersByTime(60_000);
  expect(limits.signal.aborted).toBe(false);
});

test('limits longer than a timer can hold do not fire at once', () => {
  const days = 60 * 86_400_000;
  const limits = watchStream({ timeoutMs: days, firstEventTimeoutMs: days, idleTimeoutMs: days }, 'm', open());
  limits.onEvent();
  vi.advanceTimersByTime(10 * 86_400_000);
  expect(limits.signal.aborted).toBe(false);
});
