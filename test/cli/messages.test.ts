/** `everlap messages` of a conversation that changes while it is read; the run and its server are real, its pages are not. */
import { text } from 'everlap/testing';
import { afterEach, beforeEach, expect, inject, it, vi } from 'vitest';
import { messagesCommand } from '../../src/cli/commands/messages.js';
import { RunHandle } from '../../src/client/run-handle.js';
import type { MessagesPage } from '../../src/workflows/messages.js';
import { startRig, type Rig } from '../support/rig.js';

let rig: Rig;
let out: string;
beforeEach(async () => {
  rig = await startRig({ script: [text('Done.')] });
  out = '';
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rig.stop();
});

/** A page of one message of two, as the conversation stands at this question. */
const page = (from: number, texts: readonly [string, string], lap: number): MessagesPage => ({
  messages: texts.slice(from, from + 1).map((said) => ({ role: 'assistant', text: said })),
  from,
  total: 2,
  next: from === 0 ? 1 : null,
  lap,
  head: { hash: `of lap ${lap}`, length: 2 },
});

/** @param lapAt the lap that is the current one when so many pages have been asked for. */
async function messages(lapAt: (asked: number) => number): Promise<void> {
  const run = await rig.start();
  await run.result();
  let asked = 0;
  vi.spyOn(RunHandle.prototype, 'messagesPage').mockImplementation(async ({ from = 0 } = {}) => {
    const lap = lapAt((asked += 1));
    return page(from, [`one of lap ${lap}`, `two of lap ${lap}`], lap);
  });
  vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    out += String(chunk);
    return true;
  });
  const address = inject('temporalAddress');
  await messagesCommand().parseAsync([run.id, '--json', '--address', address], { from: 'user' });
}

it('is one conversation, not the first part of one and the second of another', async () => {
  await messages((asked) => (asked === 1 ? 1 : 2));
  expect(
    out
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line)),
  ).toMatchObject([{ text: 'one of lap 2' }, { text: 'two of lap 2' }]);
});

it('is refused where it changes all the time, with what to do', async () => {
  await expect(messages((asked) => asked)).rejects.toThrow(/changes too fast.*everlap pause/);
  expect(out).toBe('');
});
