import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isRefused } from '../../src/workflows/arguments.js';
import { drainSteering, enqueue, takeFollowUp, unconsumed, type Queue } from '../../src/workflows/queues.js';
import { newRunState } from '../../src/workflows/run-state.js';

const fresh = () => newRunState('task', 0);

describe('enqueue', () => {
  test('tells the place in its own queue', () => {
    const state = fresh();
    expect(enqueue(state, 'steering', { text: 'a' })).toEqual({ position: 1 });
    expect(enqueue(state, 'steering', { text: 'b' })).toEqual({ position: 2 });
    expect(enqueue(state, 'followUps', { text: 'c' })).toEqual({ position: 1 });
  });

  test('an id counts once: while it waits, and when it was taken', () => {
    const state = fresh();
    enqueue(state, 'steering', { text: 'a', id: 'x' });
    expect(enqueue(state, 'steering', { text: 'a', id: 'x' })).toEqual({ position: 1 });
    expect(drainSteering(state)).toMatchObject({ text: '[STEERING] a' });
    expect(enqueue(state, 'steering', { text: 'a', id: 'x' })).toEqual({ position: 0 });
    expect(drainSteering(state)).toBeNull();
  });

  test('texts without an id count each time', () => {
    const state = fresh();
    enqueue(state, 'steering', { text: 'a' });
    enqueue(state, 'steering', { text: 'a' });
    expect(drainSteering(state)?.text).toBe('[STEERING] a\n\n[STEERING] a');
  });

  test('bounds what waits by number and by bytes, over both queues; one text always fits', () => {
    const many = fresh();
    for (let n = 0; n < 2000; n += 1) enqueue(many, n % 2 === 0 ? 'steering' : 'followUps', { text: 'x' });
    expect(enqueue(many, 'steering', { text: 'x' })).toEqual({
      refused: '2000 texts are waiting already; wait until the run has taken them.',
    });
    const large = fresh();
    expect(enqueue(large, 'steering', { text: '漢'.repeat(200_000) })).toEqual({ position: 1 });
    expect(isRefused(enqueue(large, 'followUps', { text: '漢' }))).toBe(true);
    drainSteering(large);
    expect(enqueue(large, 'followUps', { text: '漢' })).toEqual({ position: 1 });
  });

  test('a refused text leaves no trace: its id is free', () => {
    const state = fresh();
    enqueue(state, 'steering', { text: '漢'.repeat(200_000) });
    expect(isRefused(enqueue(state, 'steering', { text: 'b', id: 'x' }))).toBe(true);
    drainSteering(state);
    expect(enqueue(state, 'steering', { text: 'b', id: 'x' })).toEqual({ position: 1 });
  });

  test('the memory of ids is bounded', () => {
    const state = fresh();
    for (let n = 0; n < 1500; n += 1) {
      enqueue(state, 'steering', { text: 'x', id: String(n) });
      drainSteering(state);
    }
    expect(state.seenIds).toHaveLength(1000);
    expect(state.seenIds.at(-1)).toBe('1499');
  });
});

test('follow-ups come out one at a time, oldest first', () => {
  const state = fresh();
  enqueue(state, 'followUps', { text: 'a' });
  enqueue(state, 'followUps', { text: 'b', id: 'b' });
  expect(takeFollowUp(state)).toEqual({ id: null, message: { role: 'user', kind: 'follow_up', text: 'a' } });
  expect(unconsumed(state)).toEqual([{ kind: 'followUp', text: 'b', id: 'b' }]);
  expect(takeFollowUp(state)?.message.text).toBe('b');
  expect(takeFollowUp(state)).toBeNull();
});

/** The invariant: every accepted text is in its queue, in the conversation, or in the result, once and in order. */
test('whatever is sent and taken in whatever order: nothing is lost, doubled or swapped', () => {
  const step = fc.oneof(
    fc.record({
      do: fc.constant('send' as const),
      queue: fc.constantFrom<Queue>('steering', 'followUps'),
      id: fc.option(fc.nat(3)),
    }),
    fc.record({ do: fc.constantFrom('drain' as const, 'take' as const) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const state = fresh();
      const accepted: Record<Queue, string[]> = { steering: [], followUps: [] };
      const said: Record<Queue, string[]> = { steering: [], followUps: [] };
      const ids = new Set<number>();
      for (const [n, one] of steps.entries()) {
        if (one.do === 'send') {
          enqueue(state, one.queue, { text: `t${n}.`, ...(one.id !== null && { id: String(one.id) }) });
          if (one.id === null || !ids.has(one.id)) accepted[one.queue].push(`t${n}.`);
          if (one.id !== null) ids.add(one.id);
        } else if (one.do === 'drain') {
          said.steering.push(...(drainSteering(state)?.text.match(/t\d+\./g) ?? []));
        } else {
          const taken = takeFollowUp(state);
          if (taken) said.followUps.push(taken.message.text);
        }
      }
      const left = unconsumed(state);
      const of = (kind: 'steer' | 'followUp') => left.filter((one) => one.kind === kind).map(({ text }) => text);
      expect([...said.steering, ...of('steer')]).toEqual(accepted.steering);
      expect([...said.followUps, ...of('followUp')]).toEqual(accepted.followUps);
      expect(JSON.parse(JSON.stringify(state))).toEqual(state);
      const waiting = [...state.steering, ...state.followUps].map((entry) => JSON.stringify(entry).length);
      expect(state.waitingBytes).toBe(waiting.reduce((sum, bytes) => sum + bytes, 0));
    }),
  );
});
