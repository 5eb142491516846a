/** A model request as the body of a Responses request: the conversation as items, in the order in which they came. Pure. */
import { wellFormed } from '../../conversation/cut-text.js';
import type { Json, JsonObject } from '../../conversation/json.js';
import type { AssistantMessage, Message } from '../../conversation/message.js';
import { layoutOf, textsOrWhole } from '../answer-layout.js';
import { idWriter } from '../call-ids.js';
import { RESPONSES_FIELD } from '../extra-fields.js';
import { fieldsOf, listOf } from '../json-text.js';
import { normalise } from '../normalise.js';
import { askForForm } from '../output-format.js';
import type { ToolSchema } from '../provider.js';
import type { Asked } from '../wire.js';
import { MARKS } from './items.js';
import type { ResponsesTraits } from './traits.js';

const ENCRYPTED = 'reasoning.encrypted_content';
/** https://platform.openai.com/docs/api-reference/responses/create: fewer are refused. */
const MIN_OUTPUT_TOKENS = 16;

export function responsesBody(request: Asked, traits: ResponsesTraits): JsonObject {
  const { max_output_tokens, max_completion_tokens, max_tokens, include, text, tools, ...parameters } =
    request.parameters ?? {};
  const caps = [request.maxOutputTokens, max_output_tokens, max_completion_tokens, max_tokens];
  const cap = Math.min(...caps.filter((value) => typeof value === 'number'));
  const mayHaveTools = request.toolChoice === 'auto' || traits.toolChoiceNone;
  // Tools that the server runs itself come as a parameter.
  const others = mayHaveTools ? listOf(tools).map(fieldsOf) : [];
  const asked = mayHaveTools ? request : { ...request, tools: [] };
  const { format, instructions: words, tools: own } = askForForm(asked, traits, others.length > 0);
  const all = [...others, ...own.map((tool) => wireTool(tool, traits))];
  const instructions = wellFormed(words);
  const included = [...listOf(include).filter((entry) => typeof entry === 'string')];
  if (traits.encryptedReasoning && !included.includes(ENCRYPTED)) included.push(ENCRYPTED);
  const body: Record<string, Json> = {
    store: false,
    ...parameters,
    model: request.model,
    ...(instructions.trim() !== '' && { instructions }),
    input: inputItems(request.messages, traits),
    stream: true,
    ...(included.length > 0 && { include: included }),
    ...(Number.isFinite(cap) && { max_output_tokens: Math.max(MIN_OUTPUT_TOKENS, Math.floor(cap)) }),
  };
  if (format) body['text'] = { ...fieldsOf(text), format: { type: 'json_schema', ...format } };
  else if (text !== undefined) body['text'] = text;
  if (all.length > 0) {
    body['tools'] = all;
    if (request.toolChoice === 'none') body['tool_choice'] = 'none';
  } else {
    for (const key of ['tool_choice', 'parallel_tool_calls']) delete body[key];
  }
  for (const key of traits.without) delete body[key];
  return body;
}

/** @returns a list in which each call has its output directly after the answer that asked for it. */
function inputItems(messages: readonly Message[], traits: ResponsesTraits): JsonObject[] {
  const idOf = idWriter(traits.toolCallId);
  return normalise(messages).flatMap((message): JsonObject[] => {
    if (message.role === 'assistant') return answerItems(message, traits, idOf);
    if (message.role === 'user') return [{ type: 'message', role: 'user', content: message.text }];
    return [{ type: 'function_call_output', call_id: idOf(message.callId), output: message.text }];
  });
}

function answerItems(message: AssistantMessage, traits: ResponsesTraits, idOf: (id: string) => string): JsonObject[] {
  const calls = [...(message.toolCalls ?? [])];
  const came = listOf(message.extra?.[RESPONSES_FIELD]).map(fieldsOf);
  const isRefused = came.some(({ id }) => typeof id === 'string' && traits.refusedItems.has(id));
  const kept = traits.items === 'as_came' && !isRefused ? came : [];
  const layout = layoutOf(kept, MARKS, message.text, calls.length);
  const texts = textsOrWhole(layout, MARKS.text, message.text);
  return layout.flatMap((mark): JsonObject[] => {
    if (mark['type'] === MARKS.text) return wireMessage(mark, texts.shift() ?? '');
    if (mark['type'] !== MARKS.call) return [mark];
    const call = calls.shift();
    return call ? [{ ...mark, call_id: idOf(call.id), name: call.name, arguments: call.arguments }] : [];
  });
}

function wireMessage({ length: _, ...mark }: JsonObject, text: string): JsonObject[] {
  if (text.trim() === '') return [];
  // With an id it is an item of the server's own, which has another form.
  const own = 'id' in mark && { status: 'completed', content: [{ type: 'output_text', text, annotations: [] }] };
  return [{ ...mark, role: 'assistant', content: text, ...own }];
}

function wireTool({ name, description, parameters, strict }: ToolSchema, traits: ResponsesTraits): JsonObject {
  // Unlike in chat completions, strict is the default.
  const isStrict = strict === true && traits.strictTools;
  return { type: 'function', name, description: wellFormed(description), parameters, strict: isStrict };
}
