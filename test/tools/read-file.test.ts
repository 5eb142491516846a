import { writeFile as write } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LinePage } from '../../src/tools/line-page.js';
import { readFile } from '../../src/tools/index.js';
import { callTool, testFolder } from './tool-context.js';

async function reading(content: string | Uint8Array, args: object = {}): Promise<string> {
  const folder = await testFolder();
  await write(join(folder, 'a.txt'), content);
  return (await callTool(readFile(), { path: 'a.txt', ...args }, folder)) as string;
}

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join('');

test.each(['a', 'a\n', '\n', 'a\r\nb\r\n', ' \t', 'ünï 😀\n', '{"a": 1}'])(
  'a small file comes exactly as it is: %j',
  async (text) => {
    expect(await reading(text)).toBe(text);
  },
);

test('a mark in front is dropped; an empty file says so', async () => {
  expect(await reading('\ufeffa\n')).toBe('a\n');
  expect(await reading('')).toBe('["a.txt" is empty.]');
});

test('pages', async () => {
  expect(await reading(numbered(5), { from_line: 2, lines: 2 })).toBe(
    'line 2\nline 3\n[Lines 2 to 3 of 5. Read on with from_line 4.]',
  );
  expect(await reading(numbered(5), { from_line: 4, lines: 9 })).toBe('line 4\nline 5\n[Lines 4 to 5 of 5.]');
  expect(await reading('a\nb', { from_line: 2 })).toBe('b\n[Lines 2 to 2 of 2.]');
  const first = await reading(numbered(2_500), { lines: 5_000 });
  expect(first).toMatch(/line 1000\n\[Lines 1 to 1000 of 2500\. Read on with from_line 1001\.\]$/);
});

test('a page past the end', async () => {
  await expect(reading(numbered(5), { from_line: 6 })).rejects.toThrow('"a.txt" has 5 lines; there is no line 6.');
  await expect(reading('', { from_line: 2 })).rejects.toThrow('"a.txt" has 0 lines; there is no line 2.');
  await expect(reading('a', { from_line: 0 })).rejects.toThrow();
});

test('pages are bounded in characters too', async () => {
  const lines = `${'x'.repeat(999)}\n`.repeat(100);
  const page = await reading(lines);
  expect(page).toMatch(/\n\[Lines 1 to 40 of 100\. Read on with from_line 41\.\]$/);
  const long = await reading(`${'😀'.repeat(1_000_000)}\nnext\n`);
  expect(long.length).toBeLessThan(41_000);
  expect(long).toMatch(
    /\[Lines 1 to 1 of 2\. Line 1 is long: its last 1960001 characters are left out\. Read on with from_line 2\.\]$/,
  );
});

test('a large file is read only as far as the page', async () => {
  const page = await reading('some words\n'.repeat(4_000_000), { lines: 1 });
  expect(page).toBe('some words\n[Lines 1 to 1 of a file of 44000000 bytes. Read on with from_line 2.]');
});

test.each([
  ['NUL', Buffer.from('text\0more')],
  ['a picture', Buffer.from('89504e470d0a1a0a0000000d', 'hex')],
  ['Latin-1', Buffer.from('fr\xfcher', 'latin1')],
  ['UTF-16', Buffer.from('\ufefftext', 'utf16le')],
  ['cut in a character', Buffer.from('ü').subarray(0, 1)],
])('no text: %s', async (_, bytes) => {
  await expect(reading(bytes)).rejects.toThrow('"a.txt" is not a text file in UTF-8');
});

test('an abort ends it', async () => {
  const folder = await testFolder();
  await write(join(folder, 'a.txt'), 'x');
  const reason = new Error('cancelled');
  await expect(callTool(readFile(), { path: 'a.txt' }, folder, { signal: AbortSignal.abort(reason) })).rejects.toBe(
    reason,
  );
});

test('a page is the same however the file comes in, and pages joined are the file', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n', '\r\n', '😀'), maxLength: 60 });
  fc.assert(
    fc.property(
      text,
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 4, max: 30 }),
      fc.infiniteStream(fc.integer({ min: 1, max: 7 })),
      (whole, count, maxChars, sizes) => {
        const lines = whole.split(/(?<=\n)/).filter((line) => line !== '');
        let joined = '';
        let missing = 0;
        for (let from = 1; from <= lines.length;) {
          const page = new LinePage(from, count, maxChars);
          for (let at = 0; at < whole.length;) {
            const size = sizes.next().value as number;
            page.add(whole.slice(at, at + size));
            at += size;
          }
          page.end();
          expect(page.lines).toBe(lines.length);
          expect(page.text.length).toBeLessThanOrEqual(maxChars);
          expect(page.last).toBeGreaterThanOrEqual(from);
          const wanted = lines.slice(from - 1, page.last).join('');
          expect(wanted.startsWith(page.text) && wanted.length === page.text.length + page.missing).toBe(true);
          joined += page.text;
          missing += page.missing;
          from = page.last + 1;
        }
        expect(joined.length + missing).toBe(whole.length);
        if (missing === 0) expect(joined).toBe(whole);
      },
    ),
  );
});
