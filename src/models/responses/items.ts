/**
 * The output items of a response, read into one answer: its texts, thoughts and calls, and the layout by which they become
 * items again (input.ts). Texts, names and arguments are kept once, in the message; the layout has the rest. Pure.
 */
import { wellFormed } from '../../conversation/cut-text.js';
import { isJsonObject, type Json, type JsonObject } from '../../conversation/json.js';
import { isPlainLayout, joinTexts } from '../answer-layout.js';
import { fieldsOf, listOf, textOf, wellFormedJson } from '../json-text.js';
import { Budget, MAX_ANSWER_BYTES, MAX_EXTRA_BYTES, MAX_REASONING_BYTES } from '../reply-budget.js';
import type { AssembledCall } from '../tool-call-assembly.js';

export const MARKS = { text: 'message', call: 'function_call' } as const;

export interface ReadItems {
  readonly text: string;
  readonly reasoning: string;
  readonly toolCalls: readonly AssembledCall[];
  /** Empty where the items say no more than text and calls do, and where they are too large to be kept. */
  readonly layout: readonly JsonObject[];
  readonly isCut: boolean;
}

export function readItems(items: readonly JsonObject[], maxBytes = MAX_ANSWER_BYTES): ReadItems {
  const budget = new Budget(maxBytes);
  const texts: string[] = [];
  const thoughts: string[] = [];
  const toolCalls: AssembledCall[] = [];
  const layout: JsonObject[] = [];
  for (const item of items) {
    const { type } = item;
    if (type === 'message') {
      const text = budget.join([budget.take(wellFormed(messageText(item)))]);
      if (text === '') continue;
      texts.push(text);
      layout.push({ ...restOf(item, ['role', 'content', 'status']), length: text.length });
    } else if (type === 'function_call') {
      const { call_id, id, name } = item;
      toolCalls.push({
        id: budget.take(wellFormed(textOf(call_id) || textOf(id))),
        name: budget.take(wellFormed(textOf(name))),
        arguments: budget.take(wellFormed(argumentsOf(item))),
      });
      layout.push(restOf(item, ['call_id', 'name', 'arguments', 'status']));
    } else {
      if (type === 'reasoning') thoughts.push(thoughtOf(item));
      if (type !== 'reasoning' || canGoBack(item)) layout.push(restOf(item, type === 'reasoning' ? ['status'] : []));
    }
  }
  return {
    text: joinTexts(texts),
    reasoning: wellFormed(new Budget(MAX_REASONING_BYTES).take(joinTexts(thoughts))),
    toolCalls,
    layout: worthKeeping(layout),
    isCut: budget.isSpent,
  };
}

/** Ids matter to a server where there is more than texts and calls: it checks then that nothing is missing. */
function worthKeeping(layout: readonly JsonObject[]): readonly JsonObject[] {
  const hasMore = layout.some(({ type }) => type !== 'message' && type !== 'function_call');
  const kept = hasMore ? layout : layout.map(({ id: _, ...mark }) => mark);
  return isPlainLayout(kept, MARKS) || !new Budget(MAX_EXTRA_BYTES).fits(kept) ? [] : kept;
}

/** Nothing is stored with the server, so reasoning without content says nothing to it. */
function canGoBack(reasoning: JsonObject): boolean {
  return textOf(reasoning['encrypted_content']) !== '' || listOf(reasoning['content']).length > 0;
}

/** Fields that are null in an answer are refused in a request. */
function restOf(item: JsonObject, without: readonly string[]): JsonObject {
  const entries = Object.entries(item).filter(([key, value]) => value !== null && !without.includes(key));
  return fieldsOf(wellFormedJson(Object.fromEntries(entries)));
}

function messageText(item: JsonObject): string {
  if (typeof item['content'] === 'string') return item['content'];
  const parts = listOf(item['content']).map(fieldsOf);
  return parts.map((part) => textOf(part['text']) + textOf(part['refusal'])).join('');
}

function thoughtOf(item: JsonObject): string {
  const summary = listOf(item['summary']).map((part) => textOf(fieldsOf(part)['text']));
  const told = joinTexts(summary);
  if (told !== '') return told;
  return listOf(item['content'])
    .map((part) => textOf(fieldsOf(part)['text']))
    .join('');
}

function argumentsOf(item: JsonObject): string {
  const json: Json | undefined = item['arguments'];
  // Some servers parse the arguments first.
  return isJsonObject(json) ? JSON.stringify(json) : textOf(json);
}
