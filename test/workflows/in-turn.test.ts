/** Which calls run together: every order of parallel and serial ones, ended in every order. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { InTurn, type Concurrency } from '../../src/workflows/in-turn.js';

/** Lets all that can go on do so. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Starts the calls and ends them one after another, each time the first that runs; gives who ran together. */
async function groups(kinds: readonly Concurrency[]): Promise<string[]> {
  const running = new Map<number, () => void>();
  const inTurn = new InTurn();
  const all = kinds.map((kind, index) =>
    inTurn.start(kind, () => new Promise<void>((resolve) => running.set(index, resolve))),
  );
  const seen: string[] = [];
  for (;;) {
    await settled();
    const now = [...running.keys()];
    if (now.length === 0) break;
    seen.push(now.join(''));
    for (const [index, end] of running) {
      running.delete(index);
      end();
    }
  }
  await Promise.all(all);
  return seen;
}

test.each([
  ['ppp', '012'],
  ['sss', '0 1 2'],
  ['ppspp', '01 2 34'],
  ['sp', '0 1'],
  ['', ''],
])('%s', async (letters, expected) => {
  expect((await groups([...letters].map((one) => (one === 's' ? 'serial' : 'parallel')))).join(' ')).toBe(expected);
});

test('what comes later joins parallel ones that run, and waits for a serial one', async () => {
  const inTurn = new InTurn();
  const ran: string[] = [];
  const held = (name: string, until: Promise<void>) => async (): Promise<void> => {
    ran.push(name);
    await until;
  };
  let end = (): void => undefined;
  const slow = new Promise<void>((resolve) => (end = resolve));
  const first = inTurn.start('parallel', held('slow', slow));
  await settled();
  const second = inTurn.start('parallel', held('joins', Promise.resolve()));
  const alone = inTurn.start('serial', held('alone', Promise.resolve()));
  const last = inTurn.start('parallel', held('last', Promise.resolve()));
  await second;
  await settled();
  expect(ran).toEqual(['slow', 'joins']);
  end();
  await Promise.all([first, alone, last]);
  expect(ran).toEqual(['slow', 'joins', 'alone', 'last']);
});

test('a serial one has no company, and each begins in its order; one that fails holds up nobody', async () => {
  const anyCall = fc.record({
    kind: fc.constantFrom<Concurrency>('parallel', 'serial'),
    ticks: fc.integer({ min: 0, max: 5 }),
    fails: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(anyCall, { maxLength: 12 }), async (calls) => {
      const inTurn = new InTurn();
      const begun: number[] = [];
      const running = new Set<number>();
      const all = calls.map(({ kind, ticks, fails }, index) =>
        inTurn.start(kind, async () => {
          begun.push(index);
          expect(
            running.size === 0 || (kind === 'parallel' && [...running].every((at) => calls[at]?.kind === 'parallel')),
          ).toBe(true);
          running.add(index);
          for (let tick = 0; tick < ticks; tick += 1) await Promise.resolve();
          running.delete(index);
          if (fails) throw new Error(`${index} fails`);
        }),
      );
      const ends = await Promise.allSettled(all);
      expect(begun).toEqual(calls.map((_, index) => index));
      expect(ends.map(({ status }) => status === 'rejected')).toEqual(calls.map(({ fails }) => fails));
    }),
  );
});
