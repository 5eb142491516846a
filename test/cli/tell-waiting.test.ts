/** What is said of calls that wait, where nobody sits at the terminal: once each, with what has to be typed. */
import type { PendingView, RunView } from 'everlap/client';
import { expect, test } from 'vitest';
import { tellWaiting } from '../../src/cli/tell-waiting.js';
import { waitingView } from './run-view.js';

const PAY: PendingView = { kind: 'approval', callId: 'c', tool: 'pay', args: '{"usd":5}', since: 1 };

async function told(...answers: readonly (RunView | Error)[]): Promise<string[]> {
  const stop = new AbortController();
  const lines: string[] = [];
  const left = [...answers];
  const state = async (): Promise<RunView> => {
    const answer = left.shift();
    if (answer === undefined) stop.abort();
    if (answer instanceof Error) throw answer;
    return answer ?? waitingView([]);
  };
  const transcript = { line: (text = '') => void lines.push(text) };
  await tellWaiting({ id: 'my run', state }, { transcript, options: ' --address h:1' }, stop.signal);
  return lines;
}

test('an approval: the tool, the call, the commands; once, also where the run does not answer in between', async () => {
  expect(await told(waitingView([PAY]), new Error('No worker.'), waitingView([PAY]))).toEqual([
    'Call c waits for a person. Approve pay {"usd":5}?\n' +
      "  everlap approve 'my run' c --address h:1\n  everlap deny 'my run' c --address h:1",
  ]);
});

test('a question, in a run below', async () => {
  const args = JSON.stringify({ question: 'Which one?', options: ['red', 'blue'] });
  expect(await told(waitingView([{ ...PAY, kind: 'question', tool: 'ask_human', args, run: 'child' }]))).toEqual([
    'Call c waits for a person. Which one?\n  1: red\n  2: blue\n' +
      `  everlap answer 'my run' c "TEXT" --run child --address h:1`,
  ]);
});

test('a call of the same id in a later turn is another one; and what is not shown is counted', async () => {
  const lines = await told(waitingView([PAY]), waitingView([{ ...PAY, since: 2 }], 3));
  expect(lines).toEqual([
    expect.stringMatching(/^Call c /),
    expect.stringMatching(/^Call c /),
    '2 more wait; they are shown as others are decided.',
  ]);
});
