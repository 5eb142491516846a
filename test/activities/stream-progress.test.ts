import { expect, test } from 'vitest';
import { streamProgress } from '../../src/activities/stream-progress.js';

function collect() {
  const seen: unknown[] = [];
  const tell = streamProgress(
    { turn: 3, attempt: 2 },
    { progress: (details) => seen.push(details), stop: () => undefined },
  );
  return { seen, tell };
}

test('thinking first, then the text so far, tagged with turn and attempt', () => {
  const { seen, tell } = collect();
  tell({ reasoning: 'Hmm' });
  tell({});
  tell({ text: 'Hel' });
  tell({ text: 'lo' });
  expect(seen).toEqual([
    { turn: 3, attempt: 2, length: 0, text: '', thinking: 3 },
    { turn: 3, attempt: 2, length: 3, text: 'Hel' },
    { turn: 3, attempt: 2, length: 5, text: 'Hello' },
  ]);
});

test('of a long text the newest end, on whole characters; its length is that of the whole', () => {
  const { seen, tell } = collect();
  tell({ text: '😀'.repeat(50_001) });
  tell({ text: 'x' });
  const { text, length } = seen.at(-1) as { text: string; length: number };
  expect(length).toBe(100_003);
  expect(text.length).toBeLessThanOrEqual(4000);
  expect(text.endsWith('😀x')).toBe(true);
  expect(JSON.parse(JSON.stringify(text))).toBe(text);
  expect(text).not.toMatch(/\p{Cs}/u);
});
