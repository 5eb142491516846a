/** Pages of a conversation that changes while it is read. */
import { expect, test } from 'vitest';
import { RunBusyError } from '../../src/client/errors.js';
import { wholeConversation } from '../../src/client/whole-conversation.js';
import type { MessagesArgument, MessagesPage } from '../../src/workflows/messages.js';

const PAGE = 2;

interface Standing {
  readonly texts: readonly string[];
  readonly hash?: string;
  readonly lap?: number;
}

/** Answers each question by where the conversation stands then; the last one stays. */
function pages(...standings: readonly Standing[]): (page: MessagesArgument) => Promise<MessagesPage> {
  let asked = 0;
  return async ({ from = 0 }) => {
    const { texts = [], hash = 'h', lap = 1 } = standings[Math.min(asked, standings.length - 1)] ?? {};
    asked += 1;
    const to = from + PAGE;
    return {
      messages: texts.slice(from, to).map((text) => ({ role: 'assistant' as const, text })),
      from,
      total: texts.length,
      next: to < texts.length ? to : null,
      lap,
      head: { hash, length: texts.length },
    };
  };
}

const read = async (page: (page: MessagesArgument) => Promise<MessagesPage>): Promise<string[]> =>
  (await wholeConversation('r', page)).map(({ text }) => text);

const before: Standing = { texts: ['a', 'b', 'c', 'd'] };

test('a conversation that stands still is its pages', async () => {
  expect(await read(pages(before))).toEqual(['a', 'b', 'c', 'd']);
  expect(await read(pages({ texts: [] }))).toEqual([]);
});

test.each<[string, Standing]>([
  ['compacted', { texts: ['summary', 'd'], hash: 'other' }],
  ['compacted to as many messages', { texts: ['summary', 'b', 'c', 'd'], hash: 'other' }],
  ['in a new lap', { texts: ['a', 'x', 'y', 'z'], lap: 2 }],
  ['longer', { texts: ['a', 'b', 'c', 'd', 'e'] }],
])('between two pages it is %s: it is read anew', async (_, after) => {
  expect(await read(pages(before, after))).toEqual(after.texts);
});

test('one that changes every time is given up with a sentence', async () => {
  const restless = Array.from({ length: 100 }, (_, lap): Standing => ({ ...before, lap }));
  await expect(read(pages(...restless))).rejects.toThrow(RunBusyError);
  await expect(read(pages(...restless))).rejects.toThrow(/of the run r changed .*pause the run/);
});
