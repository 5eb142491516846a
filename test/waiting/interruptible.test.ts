/** Waiting that an abort ends. */
import { expect, it } from 'vitest';
import { ABORTED, pause, unlessAborted, untilAborted } from '../../src/waiting/interruptible.js';

const never = new Promise<never>(() => undefined);
const reason = new Error('enough');

it('gives the outcome where that comes first', async () => {
  const { signal } = new AbortController();
  expect(await unlessAborted(Promise.resolve(1), signal)).toBe(1);
  expect(await untilAborted(Promise.resolve(1), signal)).toBe(1);
  await expect(untilAborted(Promise.reject(reason), signal)).rejects.toBe(reason);
});

it.each(['before', 'after'])('ends at an abort %s it began', async (when) => {
  const controller = new AbortController();
  if (when === 'before') controller.abort(reason);
  const value = unlessAborted(never, controller.signal);
  const rejection = untilAborted(never, controller.signal);
  const late = untilAborted(
    Promise.reject(new Error('nobody hears this')).finally(() => never),
    controller.signal,
  );
  const paused = pause(1e9, controller.signal);
  controller.abort(reason);
  expect(await value).toBe(ABORTED);
  await expect(rejection).rejects.toBe(reason);
  await expect(late).rejects.toBe(reason);
  await paused;
});
