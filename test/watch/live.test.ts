/** Tokens while they are made, from a real worker's heartbeats. */
import { showText, type LiveEvent, type ShownText } from 'everlap/client';
import { call, cut, gate, httpError, text, type Gate } from 'everlap/testing';
import { afterEach, expect, test } from 'vitest';
import { startRig, type Rig } from '../support/rig.js';

let rig: Rig;
afterEach(() => rig.stop({ verify: false }));

/** Collects all; opens each gate when the text shown so far has its words. */
async function watch(events: AsyncIterable<LiveEvent>, gates: readonly (readonly [string, Gate])[]) {
  const all: LiveEvent[] = [];
  /** What is on the screen of the answer under way; an answer that ends begins a new line. */
  const screen = [''];
  let shown: ShownText = null;
  for await (const event of events) {
    all.push(event);
    const [next, print] = showText(shown, event);
    shown = next;
    if (print.restart) screen.push('');
    screen.push((screen.pop() ?? '') + print.text);
    for (const [words, one] of gates) if (screen.at(-1)?.includes(words)) one.open();
    if (event.type === 'model_answered') screen.push('');
  }
  return { all, screen };
}

const story = ['Once ', 'upon ', 'a time ', 'there was ', 'a test. 🦊'];

test('tokens come before their answer, never after, and make it up', async () => {
  const held = gate();
  const heldAgain = gate();
  rig = await startRig({
    script: [
      call('nothing', {}, { text: story, holdAfter: { chunks: 3, until: held } }),
      text(['The ', 'end', '.'], { holdAfter: { chunks: 2, until: heldAgain } }),
    ],
  });
  const run = await rig.start();
  const { all, screen } = await watch(run.live(), [
    ['Once upon', held],
    ['The', heldAgain],
  ]);
  for (const turn of [1, 2]) {
    const places = all.flatMap((event, place) => (event.type === 'tokens' && event.turn === turn ? [place] : []));
    const of = (type: string): number => all.findIndex((event) => event.type === type && event.turn === turn);
    expect(places.length).toBeGreaterThan(0);
    expect(Math.min(...places)).toBeGreaterThan(of('turn_started'));
    expect(Math.max(...places)).toBeLessThan(of('model_answered'));
  }
  expect(screen).toEqual([story.join(''), 'The end.', '']);
  const events = [];
  for await (const event of run.events()) events.push(event);
  expect(all.filter((event) => 'id' in event)).toEqual(events);
});

test('an attempt that is cut is superseded by the next', async () => {
  const held = gate();
  const heldAgain = gate();
  rig = await startRig({
    script: [
      cut(text(['Once ', 'upon ', 'a '], { holdAfter: { chunks: 3, until: held } }), { afterChunks: 3 }),
      text(['There ', 'was ', 'a test.'], { holdAfter: { chunks: 2, until: heldAgain } }),
    ],
  });
  const run = await rig.start();
  const { all, screen } = await watch(run.live(), [
    ['Once upon', held],
    ['There', heldAgain],
  ]);
  expect(all.find((event) => event.type === 'attempt_failed')).toMatchObject({ turn: 1, attempt: 1 });
  expect(all.filter((event) => event.type === 'tokens' && event.restarted)).toMatchObject([{ attempt: 2 }]);
  expect(all.find((event) => event.type === 'model_answered')).toMatchObject({
    text: 'There was a test.',
    attempts: 2,
  });
  expect(screen).toEqual(['Once upon ', 'There was a test.', '']);
});

test('a refused attempt is told with the time of the next; a thinking model is seen thinking', async () => {
  const thinking = gate();
  rig = await startRig({
    script: [
      httpError(429, { headers: { 'retry-after': '2' } }),
      text('Done.', { reasoning: ['Let me ', 'think.'], holdAfter: { chunks: 3, until: thinking } }),
    ],
  });
  const run = await rig.start();
  const all: LiveEvent[] = [];
  for await (const event of run.live()) {
    all.push(event);
    if (event.type === 'thinking') thinking.open();
  }
  const failed = all.find((event) => event.type === 'attempt_failed');
  expect(failed).toMatchObject({ turn: 1, attempt: 1, error: expect.stringContaining('429') as string });
  expect(Date.parse(failed?.retryAt ?? '')).not.toBeNaN();
  expect(all.find((event) => event.type === 'thinking')).toMatchObject({ turn: 1, attempt: 2 });
});

test('a closed run has no tokens, but all its events; a signal ends it at once', async () => {
  const held = gate();
  rig = await startRig({ script: [text('Done.'), text(['Once ', 'upon'], { holdAfter: { chunks: 2, until: held } })] });
  const run = await rig.start();
  await run.result();
  const { all, screen } = await watch(run.live(), []);
  expect(all.every((event) => 'id' in event)).toBe(true);
  expect(screen).toEqual(['Done.', '']);

  const second = await rig.start();
  const controller = new AbortController();
  const seen: LiveEvent[] = [];
  for await (const event of second.live({ signal: controller.signal })) {
    seen.push(event);
    if (event.type === 'tokens') controller.abort();
  }
  expect(seen.at(-1)).toMatchObject({ type: 'tokens', text: 'Once ' });
  // Whoever leaves the loop leaves nothing behind that would go on asking.
  for await (const event of second.live()) if (event.type === 'tokens') break;
  held.open();
  await second.result();
});
