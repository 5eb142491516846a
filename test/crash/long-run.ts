/** A run that goes on until it is told to end, and what must hold of it however often its workers died. */
import { call, calls, text, type RecordedRequest, type Step } from 'everlap/testing';
import type { RunHandle } from 'everlap/client';
import { expect } from 'vitest';
import { askedAgain, steeringIn, turnOf, type CrashRig } from './crash-rig.js';

/** Works on, a new mark each turn, until it is told to end. Slow enough that a kill may come anywhere. */
export function working(): { readonly script: (request: RecordedRequest) => Step; end: () => void } {
  let ending = false;
  return {
    script: (request) => {
      const n = turnOf(request);
      if (ending) return text('Done.');
      const slow = { delayMs: 30, chunkDelayMs: 10, pieceChars: 4 };
      switch (n % 4) {
        case 0:
          return call('pay', { n }, slow);
        case 1:
          return calls(
            ['read', 'put', 'read'].map((name, i) => ({ name, arguments: { n: n * 10 + i } })),
            slow,
          );
        case 2:
          return call('order', { n }, slow);
        default:
          return call('local_read', { n }, slow);
      }
    },
    end: () => {
      ending = true;
    },
  };
}

/** What must hold however often workers died. */
export async function unharmed(rig: CrashRig, run: RunHandle, steered: readonly string[]): Promise<void> {
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'Done.', unconsumedSteering: [] });
  expect(await steeringIn(run)).toEqual(steered);
  expect(await askedAgain(rig, run)).toEqual([]);
  for (const once of ['pay', 'order']) {
    const effects = (await rig.effects(once)).filter(({ word }) => word === 'effect').map(({ key }) => key);
    expect(effects).toEqual([...new Set(effects)]);
  }
  const messages = await run.messages();
  const asked = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
  const answered = messages.filter(({ role }) => role === 'tool');
  expect(answered).toHaveLength(asked.length);
  // Each turn once, in order: the marks that the model asked for are those of turns 1, 2, 3 …
  const turns = asked.map(({ arguments: args }) => Number(/\d+/.exec(args)?.[0]));
  const expected = messages
    .filter((message) => message.role === 'assistant' && message.toolCalls !== undefined)
    .flatMap((_, index) => (index % 4 === 0 ? [0, 1, 2].map((i) => (index + 1) * 10 + i) : [index + 1]));
  expect(turns).toEqual(expected);
}
