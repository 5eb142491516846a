/**
 * A model request as the body of a chat-completions request, in the way that the server with these traits takes it.
 * Pure; the messages are made valid first (normalise.ts).
 */
import { wellFormed } from '../conversation/cut-text.js';
import type { Json, JsonObject } from '../conversation/json.js';
import type { AssistantMessage, Message, ToolCall } from '../conversation/message.js';
import { idWriter } from './call-ids.js';
import { fieldsOf, wellFormedJson } from './json-text.js';
import { PLACE_FIELDS, THINKING_FIELD } from './extra-fields.js';
import { normalise } from './normalise.js';
import { askForForm } from './output-format.js';
import type { ModelRequest, ToolSchema } from './provider.js';
import type { Traits } from './traits.js';

const RESULTS_TAKEN = '(The results are read.)';

/** The fields of messages and calls that are written here: no unknown field may take their place. */
export const OWN_FIELDS: ReadonlySet<string> = new Set([
  'role',
  'content',
  'tool_calls',
  'tool_call_id',
  'function_call',
  'name',
  'id',
  'type',
  'function',
]);

type WireMessage = JsonObject & { readonly role: string };

/** What the body is made of; the rest of a {@link ModelRequest} is about the answer. */
export type Asked = Pick<
  ModelRequest,
  'model' | 'instructions' | 'messages' | 'tools' | 'toolChoice' | 'maxOutputTokens' | 'parameters' | 'output'
>;

export function requestBody(request: Asked, traits: Traits): JsonObject {
  const {
    max_tokens: ownMax,
    max_completion_tokens: ownMaxNew,
    stream_options,
    ...parameters
  } = request.parameters ?? {};
  const caps = [request.maxOutputTokens, ownMax, ownMaxNew].filter((cap) => typeof cap === 'number');
  const mayHaveTools = request.toolChoice === 'auto' || traits.toolChoiceNone;
  const { format, instructions, tools } = askForForm(mayHaveTools ? request : { ...request, tools: [] }, traits);
  const body: Record<string, Json> = {
    ...parameters,
    model: request.model,
    messages: wireMessages(request.messages, instructions, traits),
    stream: true,
    ...(traits.streamOptions && { stream_options: { ...fieldsOf(stream_options), include_usage: true } }),
    ...(caps.length > 0 && { [traits.maxTokens]: Math.max(1, Math.floor(Math.min(...caps))) }),
    ...(format && { response_format: { type: 'json_schema', json_schema: format } }),
  };
  if (tools.length > 0) {
    body['tools'] = tools.map((tool) => wireTool(tool, traits));
    if (request.toolChoice === 'none') body['tool_choice'] = 'none';
  } else {
    for (const key of ['tool_choice', 'parallel_tool_calls']) delete body[key];
  }
  for (const key of traits.without) delete body[key];
  return body;
}

export function wireMessages(messages: readonly Message[], instructions: string, traits: Traits): WireMessage[] {
  const valid = normalise(messages);
  const turns = traits.alternate ? joinNeighbours(valid) : valid;
  const idOf = idWriter(traits.toolCallId);
  const wire: WireMessage[] = [];
  for (const [at, message] of turns.entries()) {
    if (message.role === 'assistant') {
      wire.push(wireAssistant(message, traits, idOf));
    } else if (message.role === 'tool') {
      const name = traits.toolName && { name: message.name };
      wire.push({ role: 'tool', tool_call_id: idOf(message.callId), ...name, content: message.text });
    } else {
      if (!traits.userAfterTool && turns[at - 1]?.role === 'tool') {
        wire.push({ role: 'assistant', content: RESULTS_TAKEN });
      }
      wire.push({ role: 'user', content: message.text });
    }
  }
  return instruct(wire, wellFormed(instructions), traits);
}

function instruct(wire: WireMessage[], instructions: string, traits: Traits): WireMessage[] {
  const [first, ...rest] = wire;
  if (instructions.trim() === '' || !first) return wire;
  if (traits.instructions !== 'user') return [{ role: traits.instructions, content: instructions }, ...wire];
  // normalise() lets no other role be first.
  return [{ ...first, content: `${instructions}\n\n${String(first['content'])}` }, ...rest];
}

function wireAssistant(message: AssistantMessage, traits: Traits, idOf: (id: string) => string): WireMessage {
  const calls = message.toolCalls ?? [];
  return {
    ...extraOf(message, traits),
    role: 'assistant',
    content: contentOf(message, traits),
    ...(calls.length > 0 && { tool_calls: calls.map((call) => wireCall(call, traits, idOf)) }),
  };
}

function contentOf({ text, reasoning = '', extra }: AssistantMessage, traits: Traits): Json {
  const hasText = text.trim() !== '';
  if (traits.thinkingParts && extra?.[THINKING_FIELD] === true && reasoning.trim() !== '') {
    const thinking = { type: 'thinking', thinking: [{ type: 'text', text: wellFormed(reasoning) }], closed: true };
    return hasText ? [thinking, { type: 'text', text }] : [thinking];
  }
  return hasText ? text : traits.emptyContent === 'null' ? null : '';
}

function wireCall(call: ToolCall, traits: Traits, idOf: (id: string) => string): JsonObject {
  return {
    ...(traits.sendExtra && allowed(call.extra, traits)),
    id: idOf(call.id),
    type: 'function',
    function: { name: call.name, arguments: call.arguments },
  };
}

/** The fields that the provider wants back. */
function extraOf(message: AssistantMessage, traits: Traits): JsonObject {
  const { reasoning_content: came, ...others } = traits.sendExtra ? allowed(message.extra, traits) : {};
  const hasCalls = (message.toolCalls ?? []).length > 0;
  if (traits.reasoningContent === 'required_on_calls') {
    return hasCalls ? { ...others, reasoning_content: came ?? wellFormed(message.reasoning ?? '') } : others;
  }
  const isWanted = came !== undefined && (hasCalls || traits.reasoningContent === 'as_came');
  return isWanted ? { ...others, reasoning_content: came } : others;
}

function allowed(extra: JsonObject | undefined, traits: Traits): JsonObject {
  const entries = Object.entries(extra ?? {}).filter(
    ([key]) => !OWN_FIELDS.has(key) && !PLACE_FIELDS.has(key) && !traits.withoutExtra.includes(key),
  );
  return Object.fromEntries(entries.map(([key, value]) => [wellFormed(key), wellFormedJson(value)]));
}

function wireTool(tool: ToolSchema, traits: Traits): JsonObject {
  const { name, description, parameters, strict } = tool;
  const isStrict = strict === true && traits.strictTools;
  return {
    type: 'function',
    function: { name, description: wellFormed(description), parameters, ...(isStrict && { strict: true }) },
  };
}

/** Users, and assistants without calls, that follow each other become one message. */
function joinNeighbours(messages: readonly Message[]): Message[] {
  const joined: Message[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (last?.role === 'user' && message.role === 'user') {
      joined[joined.length - 1] = { ...last, text: `${last.text}\n\n${message.text}` };
    } else if (last?.role === 'assistant' && message.role === 'assistant' && !last.toolCalls) {
      const text = message.text.trim() === '' ? last.text : `${last.text}\n\n${message.text}`;
      joined[joined.length - 1] = { ...message, text };
    } else {
      joined.push(message);
    }
  }
  return joined;
}
