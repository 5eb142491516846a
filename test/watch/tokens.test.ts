/** From heartbeats to what a reader sees: whatever is polled and missed, the screen ends with the answer. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { StreamProgress } from '../../src/activities/stream-progress.js';
import { wellFormed } from '../../src/conversation/cut-text.js';
import type { LiveEvent, ModelAnswered } from '../../src/watch/agent-event.js';
import { newTokens, NOTHING_TOLD, type Told } from '../../src/watch/new-tokens.js';
import { showText, type ShownText } from '../../src/watch/shown-text.js';

const answered = (text: string): LiveEvent & ModelAnswered => ({
  id: 'i',
  time: 't',
  lap: 1,
  turn: 1,
  type: 'model_answered',
  model: 'm',
  text,
  toolCalls: [],
  usage: { input: 1, output: 1 },
});

/** As the activity shows it: the last characters of `length` that were made. */
const progress = (text: string, length: number, attempt = 1, tail = 4000): StreamProgress => ({
  turn: 1,
  attempt,
  length,
  text: wellFormed(text.slice(0, length).slice(-tail)),
});

function tell(all: readonly StreamProgress[]): LiveEvent[] {
  let told: Told = NOTHING_TOLD;
  return all.flatMap((one) => {
    const [next, event] = newTokens(told, one, 1);
    told = next;
    return event === undefined ? [] : [event];
  });
}

/** Lines of the screen: one, and another for each restart. */
function screen(events: readonly LiveEvent[]): string[] {
  const lines = [''];
  let shown: ShownText = null;
  for (const event of events) {
    const [next, { text, restart }] = showText(shown, event);
    shown = next;
    if (restart) lines.push('');
    lines.push((lines.pop() ?? '') + text);
  }
  return lines;
}

const words = fc.string({ unit: 'binary', maxLength: 40 });
const polls = fc.array(fc.nat({ max: 80 }), { maxLength: 6 });
const sorted = (lengths: readonly number[], text: string): number[] =>
  lengths.map((length) => Math.min(length, text.length)).sort((a, b) => a - b);

test('whatever was polled, the answer is on the screen once', () => {
  fc.assert(
    fc.property(words, polls, (text, lengths) => {
      const tokens = tell(sorted(lengths, text).map((length) => progress(text, length)));
      expect(screen([...tokens, answered(text)])).toEqual([text]);
    }),
  );
});

test('an attempt that is superseded ends its line, and no more', () => {
  fc.assert(
    fc.property(words, polls, words, polls, (first, firstPolls, second, secondPolls) => {
      const tokens = tell([
        ...sorted(firstPolls, first).map((length) => progress(first, length, 1)),
        ...sorted(secondPolls, second).map((length) => progress(second, length, 2)),
        progress(first, first.length, 1),
      ]);
      const lines = screen([...tokens, answered(second)]);
      expect(lines.length).toBeLessThanOrEqual(2);
      if (tokens.some((event) => event.type === 'tokens' && event.attempt === 2)) expect(lines.at(-1)).toBe(second);
    }),
  );
});

describe('a watcher that comes late', () => {
  const text = 'abcdefghij';

  test('is told how much it missed, and sees the rest', () => {
    const tokens = tell([progress(text, 6, 1, 3), progress(text, 8, 1, 3)]);
    expect(tokens).toMatchObject([{ text: 'def', skipped: 3 }, { text: 'gh' }]);
    expect(screen([...tokens, answered(text)])).toEqual(['defghij']);
  });

  test('sees the whole answer where the tokens were of another text', () => {
    const tokens = tell([progress('something else', 9)]);
    expect(screen([...tokens, answered(text)])).toEqual(['something', text]);
  });
});

test('half a character at the end waits for its other half', () => {
  const text = 'a🦊b';
  expect(tell([progress(text, 2), progress(text, 2), progress(text, 3)])).toMatchObject([
    { text: 'a' },
    { text: '🦊' },
  ]);
});

test('thinking is told as it grows, and over once there is text', () => {
  const thinking = (attempt: number, characters: number): StreamProgress => ({
    turn: 1,
    attempt,
    length: 0,
    text: '',
    thinking: characters,
  });
  expect(
    tell([
      thinking(1, 5),
      thinking(1, 5),
      thinking(1, 9),
      progress('x', 1),
      thinking(2, 3),
      thinking(2, 3),
      progress('y', 1, 2),
    ]),
  ).toMatchObject([
    { type: 'thinking', characters: 5 },
    { type: 'thinking', characters: 9 },
    { type: 'tokens', text: 'x' },
    { type: 'thinking', attempt: 2, characters: 3 },
    { type: 'tokens', text: 'y', restarted: true },
  ]);
});

test('a call that failed for good takes its text with it', () => {
  const failed: LiveEvent = {
    id: 'i',
    time: 't',
    lap: 1,
    turn: 1,
    type: 'model_failed',
    model: 'm',
    reason: 'stalled',
    error: 'e',
  };
  const tokens = tell([progress('abc', 3)]);
  expect(showText(showText(null, tokens[0] ?? failed)[0], failed)).toEqual([null, { text: '' }]);
});
