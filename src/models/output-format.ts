/** How an answer in a given form is asked for: by a field of the request, or in the instructions. Pure. */
import type { JsonObject } from '../conversation/json.js';
import type { OutputSchema } from './provider.js';
import type { Traits } from './traits.js';

/** As `json_schema` of chat completions and, beside its `type`, `text.format` of responses have it. */
export type WireFormat = { readonly name: string; readonly schema: JsonObject; readonly strict: boolean };

/** undefined where no form is asked for, or not by a field of the request. */
export function formatOf(
  output: OutputSchema | undefined,
  traits: Pick<Traits, 'output' | 'outputWithTools'>,
  hasTools: boolean,
): WireFormat | undefined {
  if (output === undefined || traits.output === 'words' || (hasTools && !traits.outputWithTools)) return undefined;
  const { name, schema, strict = false } = output;
  return { name, schema, strict: strict && traits.output === 'strict' };
}

/** The instructions, and, where no field of the request asks for the form, the form in words. */
export function withForm(instructions: string, output: OutputSchema | undefined, format: unknown): string {
  if (output === undefined || format !== undefined) return instructions;
  const words =
    'Your final answer must be one JSON object that fits this JSON Schema, without any other text around it:\n' +
    JSON.stringify(output.schema);
  return instructions.trim() === '' ? words : `${instructions}\n\n${words}`;
}
