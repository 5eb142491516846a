/** A conversation out of its pages. Knows no connection. */
import type { Message } from '../conversation/message.js';
import type { MessagesArgument, MessagesPage } from '../workflows/messages.js';
import { RunBusyError } from './errors.js';

const MAX_TRIES = 10;

/**
 * Pages go by index, so they fit together only while nothing compacts the conversation, begins a lap, or adds to it:
 * when that happens in between, it is read anew.
 */
export async function wholeConversation(
  runId: string,
  read: (page: MessagesArgument) => Promise<MessagesPage>,
): Promise<Message[]> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const messages = await readOnce(read);
    if (messages !== undefined) return messages;
  }
  throw new RunBusyError(
    `The conversation of the run ${runId} changed each of the ${MAX_TRIES} times it was read; ` +
      'pause the run first, or read it by messagesPage().',
    { runId },
  );
}

/** undefined where the conversation changed meanwhile. */
async function readOnce(read: (page: MessagesArgument) => Promise<MessagesPage>): Promise<Message[] | undefined> {
  const first = await read({ from: 0 });
  const messages = [...first.messages];
  for (let from = first.next; from !== null;) {
    const page = await read({ from });
    if (!isSame(first, page)) return undefined;
    messages.push(...page.messages);
    from = page.next;
  }
  return messages;
}

function isSame(one: MessagesPage, other: MessagesPage): boolean {
  return (
    one.lap === other.lap &&
    one.total === other.total &&
    one.head.length === other.head.length &&
    one.head.hash === other.head.hash
  );
}
