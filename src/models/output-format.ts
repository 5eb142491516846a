/**
 * How an answer in a given form is asked for: by a field of the request, by a tool that the model calls with it, or in the
 * instructions. Pure.
 */
import type { JsonObject } from '../conversation/json.js';
import { FINAL_ANSWER_NAME, objectIn } from '../conversation/json-answer.js';
import type { Message } from '../conversation/message.js';
import type { ModelAnswer, ModelRequest, OutputSchema, ToolSchema } from './provider.js';
import type { Traits } from './traits.js';

/** As `json_schema` of chat completions and, beside its `type`, `text.format` of responses have it. */
export type WireFormat = { readonly name: string; readonly schema: JsonObject; readonly strict: boolean };

export type FormTraits = Pick<Traits, 'output' | 'outputWithTools'>;
type Asking = Pick<ModelRequest, 'instructions' | 'messages' | 'tools' | 'toolChoice' | 'output'>;

export interface AskedForm {
  readonly format?: WireFormat;
  readonly instructions: string;
  readonly tools: readonly ToolSchema[];
}

/**
 * What a request has for the form of its answer.
 * @param hasOtherTools tools that the server runs itself.
 */
export function askForForm(request: Asking, traits: FormTraits, hasOtherTools = false): AskedForm {
  const { instructions, tools, output } = request;
  const asked = { instructions, tools };
  if (output === undefined) return asked;
  const { name, schema, strict = false } = output;
  const isStrict = strict && traits.output !== 'schema';
  switch (meansOf(request, traits, hasOtherTools)) {
    case 'field':
      return { ...asked, format: { name, schema, strict: isStrict } };
    case 'tool':
      return { instructions: joined(instructions, BY_TOOL), tools: [...tools, finalAnswer(schema, isStrict)] };
    case 'words':
      return { ...asked, instructions: joined(instructions, inWords(output)) };
  }
}

/** An answer to a request with {@link AskedForm.format} by which nobody has looked at that. */
export function ignoresForm({ message, finish }: ModelAnswer): boolean {
  return finish === 'end' && !message.toolCalls && message.text.trim() !== '' && objectIn(message.text) === null;
}

function meansOf({ messages, tools, toolChoice }: Asking, traits: FormTraits, hasOtherTools: boolean) {
  const hasTools = tools.length > 0 || hasOtherTools;
  const isField = traits.output === 'strict' || traits.output === 'schema';
  // Some servers refuse a conversation with calls of tools that the request does not have.
  if (isField && (!hasTools || traits.outputWithTools) && !messages.some(hasFinalAnswer)) return 'field';
  return traits.output === 'words' || toolChoice === 'none' ? 'words' : 'tool';
}

function hasFinalAnswer(message: Message): boolean {
  return message.role === 'assistant' && (message.toolCalls ?? []).some(({ name }) => name === FINAL_ANSWER_NAME);
}

const BY_TOOL = `When you are done, give your final answer by calling the tool ${FINAL_ANSWER_NAME}, not as text.`;

function finalAnswer(parameters: JsonObject, strict: boolean): ToolSchema {
  const description =
    'Gives your final answer, which its arguments are. Call it once, alone, when everything else is done.';
  return { name: FINAL_ANSWER_NAME, description, parameters, ...(strict && { strict }) };
}

function inWords({ schema }: OutputSchema): string {
  return `Your final answer must be one JSON object that fits this JSON Schema, without any other text around it:\n${JSON.stringify(schema)}`;
}

function joined(instructions: string, more: string): string {
  return instructions.trim() === '' ? more : `${instructions}\n\n${more}`;
}
