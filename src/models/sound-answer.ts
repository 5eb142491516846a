/**
 * The edge between a provider and a run: whatever a provider made of an answer, what goes on from here is well formed,
 * bounded, and has ids that are unique in the conversation. An answer that is so already comes back as it is. Pure.
 */
import { z } from 'zod';
import { cut, wellFormed } from '../conversation/cut-text.js';
import { cutToJsonBytes } from '../conversation/json-bytes.js';
import type { Json, JsonObject } from '../conversation/json.js';
import type { AssistantMessage, Message, ToolCall } from '../conversation/message.js';
import { wellFormedJson } from './json-text.js';
import type { ModelAnswer } from './provider.js';
import { Budget, MAX_ANSWER_BYTES, MAX_EXTRA_BYTES, MAX_REASONING_BYTES } from './reply-budget.js';

/** Calls of one answer: each is an activity, and a workflow may have 2,000 of them open. */
const MAX_CALLS = 200;
/** Characters of a name that no tool can have; it is only quoted. */
const MAX_NAME_CHARS = 200;

const EXTRA = z.record(z.string(), z.json()).optional();
const TOKENS = z.number().int().nonnegative();
const ANSWER = z.object({
  message: z.object({
    text: z.string(),
    toolCalls: z.array(z.object({ id: z.string(), name: z.string(), arguments: z.string(), extra: EXTRA })).default([]),
    reasoning: z.string().default(''),
    extra: EXTRA,
  }),
  // Figures that are none are figures that were not told.
  usage: z
    .object({
      input: TOKENS,
      output: TOKENS,
      cachedInput: TOKENS.optional(),
      reasoning: TOKENS.optional(),
      thinking: TOKENS.optional(),
      estimated: z.literal(true).optional(),
    })
    .nullable()
    .catch(null),
  finish: z.enum(['end', 'length']),
});

/**
 * @param before the conversation that was answered.
 * @throws Error with a sentence where it is no answer at all: that is a fault of the provider's code.
 */
export function soundAnswer(raw: unknown, before: readonly Message[]): ModelAnswer {
  const parsed = ANSWER.safeParse(raw);
  if (!parsed.success)
    throw new Error(`it answered with something that is no ModelAnswer.\n${z.prettifyError(parsed.error)}`);
  const { usage, finish, message } = parsed.data;
  const budget = new Budget(MAX_ANSWER_BYTES);
  const text = budget.take(wellFormed(message.text));
  const toolCalls = boundedCalls(message.toolCalls, budget);
  const isCut = budget.isSpent || toolCalls.length < message.toolCalls.length;
  const reasoning = cutToJsonBytes(wellFormed(message.reasoning), MAX_REASONING_BYTES);
  const extra = boundedExtra(message.extra);
  const sound: AssistantMessage = {
    role: 'assistant',
    text,
    ...(toolCalls.length > 0 && { toolCalls }),
    ...(reasoning !== '' && { reasoning }),
    ...(extra && { extra }),
  };
  return { message: withUniqueIds(sound, before), usage, finish: isCut ? 'length' : finish };
}

/** As many as fit; the last of them may be half a call, as in any answer that was cut off. */
function boundedCalls(
  calls: readonly z.output<typeof ANSWER>['message']['toolCalls'][number][],
  budget: Budget,
): ToolCall[] {
  const bounded: ToolCall[] = [];
  for (const call of calls.slice(0, MAX_CALLS)) {
    if (budget.isSpent) break;
    const { id, name, extra } = call;
    bounded.push({
      id: budget.take(wellFormed(id)),
      name: budget.take(cut(wellFormed(name), MAX_NAME_CHARS)),
      arguments: budget.take(wellFormed(call.arguments)),
      ...(extra && budget.fits(extra) && { extra: wellFormedObject(extra) }),
    });
  }
  return bounded;
}

/** Whole or not at all: half a signature is refused, none is not. */
function boundedExtra(extra: JsonObject | undefined): JsonObject | undefined {
  if (extra === undefined || !new Budget(MAX_EXTRA_BYTES).fits(extra)) return undefined;
  return wellFormedObject(extra);
}

function wellFormedObject(extra: JsonObject): JsonObject {
  const entries = Object.entries(extra).map(([key, value]): [string, Json] => [wellFormed(key), wellFormedJson(value)]);
  return Object.fromEntries(entries);
}

/**
 * Ids that the server left out, or that the conversation has already, are made up from the place of the call: the
 * same answer to the same conversation gets the same ids.
 */
function withUniqueIds(message: AssistantMessage, before: readonly Message[]): AssistantMessage {
  if (!message.toolCalls) return message;
  const taken = new Set(before.flatMap((m) => (m.role === 'assistant' ? (m.toolCalls ?? []) : [])).map((c) => c.id));
  const toolCalls = message.toolCalls.map((call, index) => {
    let id = call.id;
    for (let n = 1; id.trim() === '' || taken.has(id); n += 1) {
      id = `call_${before.length}_${index}${n === 1 ? '' : `_${n}`}`;
    }
    taken.add(id);
    return { ...call, id };
  });
  return { ...message, toolCalls };
}
