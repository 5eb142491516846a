/** What a chat shows until a message is answered, where the conversation ends in the very moment in which it is sent. */
import type { LiveEvent } from 'everlap/client';
import { expect, test } from 'vitest';
import { showAnswer } from '../../src/cli/chat-answer.js';

const at = (id: string, second: number): { id: string; time: string; lap: number; turn: number } => ({
  id,
  time: `2026-01-01T00:00:0${second}.000Z`,
  lap: 1,
  turn: 1,
});

const ENDED: LiveEvent = {
  ...at('old:9:0', 2),
  type: 'ended',
  result: {
    status: 'completed',
    reason: 'answered',
    output: 'Of the old one.',
    turns: 1,
    laps: 1,
    toolCalls: 0,
    usage: { input: 1, output: 1 },
    costUsd: null,
    unconsumedSteering: [],
  },
};
const STARTED: LiveEvent = { ...at('new:1:0', 3), type: 'run_started', agent: 'desk', task: '' };
const ANSWERED: LiveEvent = {
  ...at('new:9:0', 4),
  type: 'model_answered',
  model: 'm',
  text: 'Of the new one.',
  toolCalls: [],
  usage: { input: 1, output: 1 },
};

/** Each list: the events of the run that has the id when they are asked for. */
async function shown(
  ...runs: readonly (readonly LiveEvent[])[]
): Promise<{ said: string[]; kept: string[]; last: unknown }> {
  const said: string[] = [];
  const kept: string[] = [];
  let asked = 0;
  const last = await showAnswer(
    {
      live: async function* () {
        yield* runs[asked++] ?? [];
      },
    },
    Promise.resolve({ position: 1, id: 'm', turn: 1, reason: 'answered', answer: 'Of the new one.' }),
    {
      transcript: {
        show: (event) => void (event.type === 'model_answered' && said.push(event.text)),
        keepUp: ({ type }) => void kept.push(type),
        line: (line = '') => void said.push(line),
      },
      signal: new AbortController().signal,
      before: { id: 'old:8:0', time: '2026-01-01T00:00:01.000Z' },
    },
  );
  return { said, kept, last };
}

test('the answer of a new run is not taken for one of the conversation that has ended', async () => {
  const { said, last } = await shown([ENDED], [STARTED, ANSWERED]);
  expect(said).toEqual([expect.stringMatching(/That conversation has ended \(nobody .* new one/), 'Of the new one.']);
  expect(last).toMatchObject({ id: 'new:9:0' });
});

test('an end with the answer is no end before it', async () => {
  const { said, last } = await shown([{ ...ANSWERED, ...at('old:8:1', 2) }, ENDED]);
  expect(said).toEqual(['Of the new one.']);
  // It is told when something more is said.
  expect(last).toMatchObject({ id: 'old:8:1' });
});

test('what is not shown of a chat is kept up with all the same, for the status line', async () => {
  const { said, kept } = await shown([
    { ...at('new:2:0', 2), type: 'turn_started', model: 'm', activityId: '1' },
    { ...at('new:3:0', 3), type: 'waiting', calls: [] },
    ANSWERED,
  ]);
  expect(said).toEqual(['Of the new one.']);
  expect(kept).toEqual(['turn_started', 'waiting']);
});
