import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ABANDONED, settleWithin } from '../../src/activities/settle-within.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = () => new Promise<string>(() => undefined);
/** What has come of it so far. */
function watch<T>(promise: Promise<T>): { value: T | 'pending' | 'rejected' } {
  const seen: { value: T | 'pending' | 'rejected' } = { value: 'pending' };
  promise.then(
    (value) => (seen.value = value),
    () => (seen.value = 'rejected'),
  );
  return seen;
}

describe('work that settles', () => {
  test('its value, its rejection, and what it throws at once', async () => {
    const { signal } = new AbortController();
    expect(await settleWithin(() => 'now', signal, 10)).toBe('now');
    expect(await settleWithin(async () => Promise.resolve('soon'), signal, 10)).toBe('soon');
    await expect(settleWithin(() => Promise.reject(new Error('no')), signal, 10)).rejects.toThrow('no');
    const thrower = () => {
      throw new Error('at once');
    };
    await expect(settleWithin(thrower, signal, 10)).rejects.toThrow('at once');
    expect(vi.getTimerCount()).toBe(0);
  });

  test('within the grace after an abort its value counts, its rejection does not', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const ends = (value: () => Promise<string>) => () =>
      new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve(value())));
    const good = settleWithin(
      ends(() => Promise.resolve('in order')),
      signal,
      1000,
    );
    const bad = settleWithin(
      ends(() => Promise.reject(new Error('aborted'))),
      signal,
      1000,
    );
    controller.abort();
    expect(await good).toBe('in order');
    expect(await bad).toBe(ABANDONED);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('work that does not settle', () => {
  test('is waited for without an abort, and left behind after the grace', async () => {
    const controller = new AbortController();
    const seen = watch(settleWithin(never, controller.signal, 1000));
    await vi.advanceTimersByTimeAsync(1_000_000);
    expect(seen.value).toBe('pending');
    controller.abort();
    await vi.advanceTimersByTimeAsync(999);
    expect(seen.value).toBe('pending');
    await vi.advanceTimersByTimeAsync(1);
    expect(seen.value).toBe(ABANDONED);
  });

  test('is not begun after an abort', async () => {
    const work = vi.fn(never);
    expect(await settleWithin(work, AbortSignal.abort(), 1000)).toBe(ABANDONED);
    expect(work).not.toHaveBeenCalled();
  });

  test('may reject later: nobody hears of it', async () => {
    const controller = new AbortController();
    let reject = (_: Error): void => undefined;
    const work = () => new Promise<string>((_, no) => (reject = no));
    const seen = watch(settleWithin(work, controller.signal, 10));
    controller.abort();
    await vi.advanceTimersByTimeAsync(10);
    reject(new Error('late'));
    await vi.advanceTimersByTimeAsync(10);
    expect(seen.value).toBe(ABANDONED);
  });
});
