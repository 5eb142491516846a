import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cut, cutFront, cutText, headAndTail, oneLine, wellFormed } from '../../src/conversation/cut-text.js';

/** Well-formed text with many surrogate pairs. */
const text = fc.string({ unit: fc.constantFrom('a', 'é', '\n', '😀', '👩‍🚀', '語'), maxLength: 300 });
const isWellFormed = (value: string) => !/\p{Cs}/u.test(value);

test('a cut keeps whole characters and never more than asked', () => {
  fc.assert(
    fc.property(text, fc.integer({ min: 0, max: 400 }), (whole, max) => {
      const line = oneLine(whole, max + 1);
      expect(line.length).toBeLessThanOrEqual(max + 1);
      expect(line).not.toMatch(/\n|\s\s/);
      expect(isWellFormed(line)).toBe(true);
      for (const shorten of [cut, cutFront, cutText, headAndTail]) {
        const short = shorten(whole, max);
        expect(short.length).toBeLessThanOrEqual(max);
        expect(isWellFormed(short)).toBe(true);
        if (whole.length <= max) expect(short).toBe(whole);
      }
      expect(whole.startsWith(cut(whole, max))).toBe(true);
      expect(whole.endsWith(cutFront(whole, max))).toBe(true);
      expect(cut(whole, max).length).toBeGreaterThanOrEqual(Math.min(whole.length, max) - 1);
    }),
  );
});

test('the marker counts exactly what is missing', () => {
  fc.assert(
    fc.property(text, fc.integer({ min: 45, max: 200 }), (part, max) => {
      const whole = part + '😀x'.repeat(max / 3 + 1);
      for (const shorten of [cutText, headAndTail]) {
        const [, head = '', missing, tail = ''] = /^(.*)\n\[… (\d+) characters left out …\]\n(.*)$/s.exec(
          shorten(whole, max),
        )!;
        expect(whole.startsWith(head) && whole.endsWith(tail)).toBe(true);
        expect(head.length + Number(missing) + tail.length).toBe(whole.length);
        expect(shorten === cutText ? tail : '').toBe('');
      }
    }),
  );
});

test('head and tail are both kept, the head more', () => {
  const short = headAndTail(`${'h'.repeat(5000)}${'t'.repeat(5000)}`, 1000);
  expect(short.replaceAll(/[^h]/g, '').length).toBeGreaterThan(500);
  expect(short.endsWith('t'.repeat(300))).toBe(true);
});

test.each([cut, cutFront, cutText, headAndTail])('odd limits give little, never an error (%o)', (shorten) => {
  for (const max of [-1, 0, 0.5, Number.NaN]) expect(shorten('😀😀', max)).toBe('');
  expect(shorten('😀😀', 3.9)).toBe('😀');
  expect(shorten('😀😀', Number.POSITIVE_INFINITY)).toBe('😀😀');
});

test('lone surrogates are replaced, pairs are kept', () => {
  expect(wellFormed('a\ud83db')).toBe('a\ufffdb');
  expect(wellFormed('\ude00\ud83d')).toBe('\ufffd\ufffd');
  expect(wellFormed('😀')).toBe('😀');
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', '\ud83d', '\ude00', '😀') }), (any) => {
      expect(isWellFormed(wellFormed(any))).toBe(true);
      expect(wellFormed(any).length).toBe(any.length);
    }),
  );
});
