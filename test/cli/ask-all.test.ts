/** Many runs asked at once: in which order the answers come back, and how many are under way. */
import { setImmediate as tick } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { inTurns } from '../../src/cli/ask-all.js';

test('some are asked at once, and one that does not answer holds up no other', async () => {
  const items = Array.from({ length: 25 }, (_, at) => at);
  const asked: number[] = [];
  let [under, most] = [0, 0];
  let giveUp = (): void => undefined;
  const silent = new Promise<void>((resolve) => (giveUp = resolve));
  const all = inTurns(items, async (item) => {
    asked.push(item);
    most = Math.max(most, (under += 1));
    await (item === 0 ? silent : tick());
    under -= 1;
    return item * 2;
  });
  while (asked.length < items.length) await tick();
  giveUp();
  expect(await all).toEqual(items.map((item) => item * 2));
  expect(most).toBe(10);
});
