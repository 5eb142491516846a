/** What tests ask of a run's conversation. */
import type { Message } from 'everlap';
import type { RunHandle } from 'everlap/client';
import { strictComplaint, textOf, type RecordedRequest } from 'everlap/testing';
import { traitsFor } from '../../src/models/traits.js';
import { wireMessages } from '../../src/models/wire.js';

/**
 * What a strict provider would say against a conversation, as it stands in the run; null where nothing. Normalising
 * mends much on its way out, so what the run holds is checked first: each call with one result, right after it, in order.
 */
export function complaintAbout(messages: readonly Message[]): string | null {
  const open: string[] = [];
  for (const [at, message] of messages.entries()) {
    if (message.role === 'tool') {
      if (open.shift() !== message.callId) return `message ${at}: the result of ${message.callId} is out of place`;
    } else {
      if (open.length > 0) return `message ${at}: ${open.join(', ')} had no result before it`;
      if (message.role === 'assistant') open.push(...(message.toolCalls ?? []).map(({ id }) => id));
    }
  }
  if (open.length > 0) return `${open.join(', ')}: no result at the end`;
  return strictComplaint(
    wireMessages(messages, 'You are being tested.', traitsFor('http://127.0.0.1/v1', 'gpt-5-mini')),
  );
}

export async function validMessages(run: RunHandle): Promise<Message[]> {
  const messages = await run.messages();
  const complaint = complaintAbout(messages);
  if (complaint !== null) throw new Error(`${complaint}\n${JSON.stringify(messages, null, 1)}`);
  return messages;
}

/** `user: Do it.`, `assistant: work(a)`, `tool: a is done` */
export function linesOf(request: RecordedRequest | undefined): string[] {
  return (request?.messages ?? [])
    .filter(({ role }) => role !== 'system')
    .map((message) => {
      const calls = message.tool_calls?.map((call) => call.function?.name).join(', ');
      return `${message.role}: ${calls ?? textOf(message)}`;
    });
}
