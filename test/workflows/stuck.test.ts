import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { judge, turnSignature, type StuckMemory, type StuckVerdict } from '../../src/workflows/stuck.js';

function verdicts(turns: string, window = 3): string {
  const letters: Record<StuckVerdict, string> = { moving: '.', warn: 'w', stuck: 'S' };
  let memory: StuckMemory = { signatures: [], warned: false };
  let said = '';
  for (const turn of turns) {
    const [next, verdict] = judge(memory, turn, window);
    memory = next;
    said += letters[verdict];
  }
  return said;
}

describe('judge', () => {
  test.each([
    ['AAAA', '..wS'],
    ['ABABABA', '.....wS'],
    ['ABCABCABCA', '........wS'],
    ['ABCDABCDABCDABCD', '................'],
    ['AABBAABB', '........'],
    ['AAABAAAA', '..w...wS'],
    ['AAAB', '..w.'],
    ['XYAAAA', '....wS'],
    ['ABABAAA', '......w'],
    ['AAABABABA', '..w....wS'],
  ])('%s', (turns, said) => {
    expect(verdicts(turns)).toBe(said);
  });

  test('a wider window waits longer', () => {
    expect(verdicts('AAAAAA', 5)).toBe('....wS');
    expect(verdicts('AAA', 2)).toBe('.wS');
  });

  test('turns that never come again are never stuck, and the memory stays small', () => {
    let memory: StuckMemory = { signatures: [], warned: false };
    for (let n = 0; n < 1000; n += 1) {
      const [next, verdict] = judge(memory, String(n), 3);
      expect(verdict).toBe('moving');
      memory = next;
    }
    expect(memory.signatures.length).toBeLessThanOrEqual(9);
  });

  test('any cycle of up to three turns is warned of once, and ended by the next turn in it', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.constantFrom('A', 'B', 'C'), { minLength: 1, maxLength: 3 }),
        fc.integer({ min: 2, max: 6 }),
        (cycle, window) => {
          const turns = Array.from(
            { length: cycle.length * window + 1 },
            (_, at) => cycle[at % cycle.length] ?? '',
          ).join('');
          const said = verdicts(turns, window);
          expect(said).toMatch(/^\.*wS/);
        },
      ),
    );
  });

  test('never stuck without a warning in the turn before', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('A', 'B'), maxLength: 40 }), (turns) => {
        expect(verdicts(turns)).not.toMatch(/(^|\.)S/);
      }),
    );
  });
});

describe('turnSignature', () => {
  const call = (name: string, args: string, id = 'x') => ({ id, name, arguments: args });
  const result = (text: string) => ({ role: 'tool' as const, callId: 'x', name: 'n', text });

  test('is equal for equal calls and results, whatever their ids', () => {
    expect(turnSignature([call('a', '{}', '1')], [result('r')])).toBe(
      turnSignature([call('a', '{}', '2')], [result('r')]),
    );
  });

  test('differs by name, arguments, result, number and order', () => {
    const all = [
      turnSignature([call('a', '{}')], [result('r')]),
      turnSignature([call('b', '{}')], [result('r')]),
      turnSignature([call('a', '{"x":1}')], [result('r')]),
      turnSignature([call('a', '{}')], [result('s')]),
      turnSignature([call('a', '{}'), call('a', '{}')], [result('r'), result('r')]),
      turnSignature([call('a', '{}'), call('b', '{}')], [result('r'), result('s')]),
      turnSignature([call('b', '{}'), call('a', '{}')], [result('s'), result('r')]),
    ];
    expect(new Set(all).size).toBe(all.length);
  });
});
