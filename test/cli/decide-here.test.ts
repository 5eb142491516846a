/** What is asked for at the terminal, and when it is taken back: by what a run answers, or does not. */
import type { PendingView, RunView } from 'everlap/client';
import { expect, test } from 'vitest';
import { decideHere } from '../../src/cli/decide-here.js';
import { waitingView } from './run-view.js';

const PAY: PendingView = { kind: 'approval', callId: 'c', tool: 'pay', args: '{"usd":5}', since: 1 };

/** A person who types nothing. Ends when the run has given all its answers and nothing is asked any more. */
async function shown(...answers: readonly (RunView | Error)[]): Promise<{ lines: string[]; takenBackAt: number[] }> {
  const stop = new AbortController();
  const lines: string[] = [];
  const takenBackAt: number[] = [];
  let asked = 0;
  const never = async (): Promise<never> => Promise.reject(new Error('Nobody decides here.'));
  const state = async (): Promise<RunView> => {
    const answer = answers[asked];
    asked += 1;
    if (answer === undefined) stop.abort();
    if (answer instanceof Error) throw answer;
    return answer ?? waitingView([]);
  };
  await decideHere(
    { id: 'r', state, approve: never, deny: never, answer: never },
    {
      options: ' --address h:1',
      transcript: { line: (text = '') => void lines.push(text), asking: null },
      terminal: () => ({
        again: () => undefined,
        ask: (_, signal) =>
          new Promise((resolve) =>
            signal?.addEventListener('abort', () => {
              if (!stop.signal.aborted) takenBackAt.push(asked);
              resolve(null);
            }),
          ),
      }),
    },
    stop.signal,
  );
  return { lines, takenBackAt };
}

const lost = new Error('The worker is being started again.');

test('a question stays while the run does not answer, and is taken back when its call does not wait any more', async () => {
  const { lines, takenBackAt } = await shown(lost, waitingView([PAY]), lost, lost, waitingView([PAY]), waitingView([]));
  expect(lines).toEqual([expect.stringMatching(/^Approve pay \{"usd":5\}\?/), expect.stringMatching(/any more/)]);
  expect(takenBackAt).toEqual([6]);
});

test('a call of the same id in a later turn is another one', async () => {
  const { lines } = await shown(
    waitingView([PAY]),
    waitingView([{ ...PAY, since: 2 }]),
    waitingView([{ ...PAY, since: 2 }]),
  );
  expect(lines.map((line) => line.slice(0, 7))).toEqual(['Approve', 'It does', 'Approve']);
});

test('a call below that is not shown, since others take its place, may wait all the same', async () => {
  const below = { ...PAY, run: 'child' };
  const { takenBackAt } = await shown(
    waitingView([below]),
    waitingView([PAY], 2),
    waitingView([below]),
    waitingView([PAY]),
  );
  expect(takenBackAt).toEqual([4]);
});

test.each([
  [
    'arguments',
    { ...PAY, args: '{"usd":5,"why":"bec' },
    /^Approve pay \{"usd":5,"why":"bec…\?\n.* messages r --address h:1\n/,
  ],
  ['those of a run below', { ...PAY, args: '{', run: 'child' }, /\(in the run child\)\?\n.* everlap messages child /],
  ['a question', { ...PAY, kind: 'question' as const, args: '{"question":"Wh' }, /^\{"question":"Wh…\n.* messages r/],
])('where %s were cut, it says how to see them whole', async (_, call, expected) => {
  expect((await shown(waitingView([call]))).lines[0]).toMatch(expected);
});

test('what is whole is shown without such a hint', async () => {
  expect((await shown(waitingView([PAY]))).lines[0]).not.toContain('messages');
});
