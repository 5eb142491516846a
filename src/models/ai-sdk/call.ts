/** A model request as a call of an AI SDK model. Pure. */
import { wellFormed } from '../../conversation/cut-text.js';
import { isJsonObject, type Json, type JsonObject } from '../../conversation/json.js';
import type { AssistantMessage, Message } from '../../conversation/message.js';
import { layoutOf, textsFor, textsOrWhole } from '../answer-layout.js';
import { idWriter } from '../call-ids.js';
import { AI_SDK_FIELD } from '../extra-fields.js';
import { fieldsOf, listOf, parseJson, textOf, wellFormedJson } from '../json-text.js';
import { normalise } from '../normalise.js';
import { askForForm, type FormTraits } from '../output-format.js';
import type { ModelRequest } from '../provider.js';
import { traitsFor } from '../traits.js';
import { MARKS } from './parts.js';
import type { AiSdkCall, AnswerPart, CustomPart, PromptMessage, ProviderOptions } from './types.js';

export interface CallSurroundings {
  /** `provider` of the model: the beginning of it is the name for its options. */
  readonly provider: string;
  readonly providerOptions?: ProviderOptions;
  readonly headers?: Readonly<Record<string, string>>;
  /** Which means the model has to be asked for the form of an answer. */
  readonly traits: FormTraits;
}

type NumberSetting = 'temperature' | 'topP' | 'topK' | 'presencePenalty' | 'frequencyPenalty' | 'seed';
/** Parameters that the AI SDK has fields for, under its own names and those of OpenAI's API. */
const NUMBERS: Readonly<Record<string, NumberSetting>> = {
  temperature: 'temperature',
  topP: 'topP',
  top_p: 'topP',
  topK: 'topK',
  top_k: 'topK',
  presencePenalty: 'presencePenalty',
  presence_penalty: 'presencePenalty',
  frequencyPenalty: 'frequencyPenalty',
  frequency_penalty: 'frequencyPenalty',
  seed: 'seed',
};
const CAPS: ReadonlySet<string> = new Set([
  'maxOutputTokens',
  'max_output_tokens',
  'max_completion_tokens',
  'max_tokens',
]);
const STOPS: ReadonlySet<string> = new Set(['stopSequences', 'stop']);

export function callOf(request: ModelRequest, surroundings: CallSurroundings): AiSdkCall {
  const { settings, own } = settingsOf(request);
  const { format, instructions, tools } = askForForm(request, surroundings.traits);
  const call: AiSdkCall = {
    ...settings,
    prompt: promptOf(request.messages, wellFormed(instructions), request.model),
    ...(format && { responseFormat: { type: 'json', name: format.name, schema: format.schema } }),
  };
  if (tools.length > 0) {
    call.tools = tools.map(({ name, description, parameters, strict }) => ({
      type: 'function',
      name,
      description: wellFormed(description),
      inputSchema: parameters,
      ...(strict === true && { strict }),
    }));
    call.toolChoice = { type: request.toolChoice };
  }
  const options = optionsOf(surroundings, own, fieldsOf(request.parameters?.['providerOptions']));
  if (Object.keys(options).length > 0) call.providerOptions = options;
  if (surroundings.headers) call.headers = { ...surroundings.headers };
  return call;
}

/** `own`: parameters that only the provider knows. */
function settingsOf({ parameters = {}, maxOutputTokens }: ModelRequest): {
  settings: Omit<AiSdkCall, 'prompt'>;
  own: JsonObject;
} {
  const settings: Omit<AiSdkCall, 'prompt'> = {};
  const own: Record<string, Json> = {};
  const caps = maxOutputTokens === undefined ? [] : [maxOutputTokens];
  for (const [name, value] of Object.entries(parameters)) {
    const field = NUMBERS[name];
    if (field && typeof value === 'number') settings[field] = value;
    else if (CAPS.has(name) && typeof value === 'number') caps.push(value);
    else if (STOPS.has(name))
      settings.stopSequences = [value, ...listOf(value)].filter((stop) => typeof stop === 'string');
    else if (name !== 'providerOptions') own[name] = value;
  }
  if (caps.length > 0) settings.maxOutputTokens = Math.max(1, Math.floor(Math.min(...caps)));
  return { settings, own };
}

function optionsOf(surroundings: CallSurroundings, own: JsonObject, given: JsonObject): ProviderOptions {
  const name = surroundings.provider.split('.')[0] ?? surroundings.provider;
  const options: ProviderOptions = { ...surroundings.providerOptions };
  for (const [key, value] of Object.entries(given)) options[key] = { ...options[key], ...fieldsOf(value) };
  if (Object.keys(own).length > 0) options[name] = { ...options[name], ...own };
  return options;
}

function promptOf(messages: readonly Message[], instructions: string, model: string): PromptMessage[] {
  const { toolCallId } = traitsFor('', model);
  const idOf = idWriter(toolCallId === 'any' ? 'safe64' : toolCallId);
  const prompt: PromptMessage[] = instructions.trim() === '' ? [] : [{ role: 'system', content: instructions }];
  for (const message of normalise(messages)) {
    if (message.role === 'user') {
      prompt.push({ role: 'user', content: [{ type: 'text', text: message.text }] });
    } else if (message.role === 'assistant') {
      prompt.push({ role: 'assistant', content: answerParts(message, idOf) });
    } else {
      const { callId, name, text, isError } = message;
      const type = isError === true ? 'error-text' : 'text';
      const result = { type: 'tool-result' as const, toolCallId: idOf(callId), toolName: name };
      const last = prompt.at(-1);
      // All results of one answer are one message.
      const results = last?.role === 'tool' ? last.content : [];
      if (last?.role !== 'tool') prompt.push({ role: 'tool', content: results });
      results.push({ ...result, output: { type, value: text } });
    }
  }
  return prompt;
}

function answerParts(message: AssistantMessage, idOf: (id: string) => string): AnswerPart[] {
  const calls = [...(message.toolCalls ?? [])];
  const layout = layoutOf(message.extra?.[AI_SDK_FIELD], MARKS, message.text, calls.length);
  const texts = textsOrWhole(layout, MARKS.text, message.text);
  // A thought that is not whole has a signature that does not fit.
  const thoughts = textsFor(layout, MARKS.thought, message.reasoning ?? '') ?? [];
  return layout.flatMap((mark): AnswerPart[] => {
    const { providerOptions } = mark;
    const options = isJsonObject(providerOptions) && { providerOptions: optionsIn(providerOptions) };
    switch (mark['type']) {
      case MARKS.text: {
        const text = texts.shift() ?? '';
        return text.trim() === '' ? [] : [{ type: 'text', text, ...options }];
      }
      case MARKS.thought: {
        const text = thoughts.shift();
        return text === undefined ? [] : [{ type: 'reasoning', text: wellFormed(text), ...options }];
      }
      case MARKS.call: {
        const call = calls.shift();
        if (!call) return [];
        const { id, name } = call;
        return [
          { type: 'tool-call', toolCallId: idOf(id), toolName: name, input: parseJson(call.arguments), ...options },
        ];
      }
      default:
        return keptPart(mark, options);
    }
  });
}

/** Parts that the provider made and understands itself: calls of its own tools, their results, and what it calls custom. */
function keptPart(mark: JsonObject, options: { providerOptions: ProviderOptions } | false): AnswerPart[] {
  const toolCallId = textOf(mark['toolCallId']);
  const toolName = textOf(mark['toolName']);
  switch (mark['type']) {
    case 'provider-call':
      return [{ type: 'tool-call', toolCallId, toolName, input: mark['input'], providerExecuted: true, ...options }];
    case 'provider-result': {
      const type = mark['isError'] === true ? 'error-json' : 'json';
      const value = wellFormedJson(mark['result'] ?? null);
      return [{ type: 'tool-result', toolCallId, toolName, output: { type, value }, ...options }];
    }
    case 'custom': {
      const part: CustomPart = { type: 'custom', kind: textOf(mark['kind']), ...options };
      return [part as unknown as AnswerPart];
    }
    default:
      return [];
  }
}

function optionsIn(value: JsonObject): ProviderOptions {
  return Object.fromEntries(Object.entries(value).map(([name, options]) => [name, fieldsOf(wellFormedJson(options))]));
}
