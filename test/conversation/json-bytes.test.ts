/** Bytes as JSON, against what Node makes of it. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cutToJsonBytes, escapedBytes, jsonBytes, utf8Length } from '../../src/conversation/json-bytes.js';

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('a', '"', '\n', '\u0001', 'é', '漢', '🌍') }),
);
const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

it('of texts and values, with and without their quotes', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      expect(utf8Length(text)).toBe(Buffer.byteLength(text));
      expect(jsonBytes(text)).toBe(bytes(text));
      expect(jsonBytes({ [text]: [text] })).toBe(bytes({ [text]: [text] }));
      expect(escapedBytes(text)).toBe(bytes(text) - 2);
    }),
  );
});

it('cut to so many of them: as long as may be, on whole characters', () => {
  fc.assert(
    fc.property(anyText, fc.nat(100), (text, max) => {
      const cut = cutToJsonBytes(text, max);
      expect(text.startsWith(cut)).toBe(true);
      expect(escapedBytes(cut)).toBeLessThanOrEqual(max);
      expect(cut.isWellFormed()).toBe(text.isWellFormed());
      const next = [...text.slice(cut.length)][0] ?? '';
      if (next !== '') expect(escapedBytes(cut + next)).toBeGreaterThan(max);
    }),
  );
});
