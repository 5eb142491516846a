/**
 * Any conversation, valid or damaged, to one that no provider can refuse: each call has exactly one result, in call
 * order, directly after it; ids are unique; arguments are JSON objects; nothing is empty; it begins with a user and
 * does not end with the assistant. A conversation that is so already comes back as it is. Pure; knows no wire format.
 */
import { wellFormed } from '../conversation/cut-text.js';
import { isJsonObject } from '../conversation/json.js';
import type { AssistantMessage, Message, ToolCall, ToolMessage, UserMessage } from '../conversation/message.js';
import { parseJson, wellFormedJson } from './json-text.js';

export const NO_RESULT = 'There is no result: the call was interrupted, and whether it had an effect is unknown.';
const NO_OUTPUT = '(no output)';
const NO_TEXT = '(empty message)';
const EARLIER_LEFT_OUT = '(Earlier messages were left out.)';
const GO_ON = 'Continue.';

/** An assistant message and what has been found of its results. */
interface Asked {
  readonly message: AssistantMessage;
  readonly calls: readonly { readonly original: string; readonly call: ToolCall; result?: ToolMessage }[];
}

export function normalise(messages: readonly Message[]): Message[] {
  const items = pair(messages);
  const flat = items.flatMap((item): Message[] => ('message' in item ? writeOut(item) : [item]));
  if (flat[0]?.role !== 'user') flat.unshift(notice(flat.length === 0 ? GO_ON : EARLIER_LEFT_OUT));
  // Anthropic and Mistral take an assistant message at the end for the beginning of their own.
  if (flat.at(-1)?.role === 'assistant') flat.push(notice(GO_ON));
  return flat;
}

/** Arguments as every provider takes them: a JSON object. What the model wrote instead stays readable. */
export function objectArguments(json: string): string {
  if (json.trim() === '') return '{}';
  const parsed = parseJson(json);
  if (!isJsonObject(parsed)) return JSON.stringify({ _invalid_json: wellFormed(json) });
  // "\ud83d" is harmless here and no text any more for whoever parses it.
  const isSuspect = /\\u[dD][89a-fA-F]/.test(json) || wellFormed(json) !== json;
  return isSuspect ? JSON.stringify(wellFormedJson(parsed)) : json;
}

/** A name as providers take it, `[a-zA-Z0-9_-]{1,64}`: models make up others. */
function functionName(name: string): string {
  const safe = name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64);
  return safe === '' ? 'unknown_tool' : safe;
}

/** Every result to the latest call before it that has its id and no result yet; what is left over becomes a note. */
function pair(messages: readonly Message[]): (UserMessage | Asked)[] {
  const items: (UserMessage | Asked)[] = [];
  const asked: Asked[] = [];
  const taken = new Set<string>();
  const originals = new Set(
    messages.flatMap((m) => (m.role === 'assistant' ? (m.toolCalls ?? []) : [])).map((c) => c.id),
  );
  for (const message of messages) {
    if (message.role === 'user') {
      items.push({ ...message, text: orElse(message.text, NO_TEXT) });
    } else if (message.role === 'assistant') {
      const calls = message.toolCalls ?? [];
      if (message.text.trim() === '' && calls.length === 0) continue;
      const entry: Asked = {
        message,
        calls: calls.map((call) => ({ original: call.id, call: { ...call, id: unique(call.id, taken, originals) } })),
      };
      items.push(entry);
      if (calls.length > 0) asked.push(entry);
    } else if (!giveResult(asked, message)) {
      items.push(orphan(message));
    }
  }
  return items;
}

function giveResult(asked: readonly Asked[], result: ToolMessage): boolean {
  for (let i = asked.length - 1; i >= 0; i -= 1) {
    const waiting = asked[i]?.calls.find((call) => call.original === result.callId && call.result === undefined);
    if (waiting) {
      waiting.result = result;
      return true;
    }
  }
  return false;
}

function orphan({ name, text }: ToolMessage): UserMessage {
  return notice(`(A result of ${functionName(name)}, whose call was left out:)\n${orElse(text, NO_OUTPUT)}`);
}

function writeOut({ message, calls }: Asked): Message[] {
  const text = wellFormed(message.text);
  if (calls.length === 0) return [{ ...message, text, toolCalls: undefined }];
  const toolCalls = calls.map(({ call }) => ({
    ...call,
    name: functionName(call.name),
    arguments: objectArguments(call.arguments),
  }));
  const results = calls.map(({ call, result }): ToolMessage => {
    const name = functionName(call.name);
    if (!result) return { role: 'tool', callId: call.id, name, text: NO_RESULT, isError: true };
    return { ...result, callId: call.id, name, text: orElse(result.text, NO_OUTPUT) };
  });
  return [{ ...message, text, toolCalls }, ...results];
}

/** The id itself the first time, later one that no call of the conversation has. */
function unique(id: string, taken: Set<string>, originals: ReadonlySet<string>): string {
  const wanted = wellFormed(id);
  let free = wanted;
  for (let n = 2; free === '' || taken.has(free) || (free !== id && originals.has(free)); n += 1) {
    free = wanted === '' ? `call_${taken.size}${n === 2 ? '' : `_${n}`}` : `${wanted}_${n}`;
  }
  taken.add(free);
  return free;
}

function notice(text: string): UserMessage {
  return { role: 'user', kind: 'notice', text };
}

function orElse(text: string, other: string): string {
  return text.trim() === '' ? other : wellFormed(text);
}
