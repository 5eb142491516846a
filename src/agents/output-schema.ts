/** The form of an agent's answer: what the model is asked for, and whether an answer has it. Safe anywhere. */
import { z } from 'zod';
import type { JsonObject } from '../conversation/json.js';
import { objectIn } from '../conversation/json-answer.js';
import type { OutputSchema } from '../models/provider.js';
import { DefinitionError } from './definition-error.js';
import { withoutForcedNulls } from './json-schema.js';
import { strictParameters } from './strict-schema.js';
import { objectSchema } from './tool-schema.js';

/** Made by `defineAgent` only. */
export interface AgentOutput<Output = unknown> {
  readonly schema: z.ZodType<Output>;
  /** JSON Schema of what the model has to write (zod's input side). */
  readonly parameters: JsonObject;
  /** What is asked for: strict where that is possible. */
  readonly asked: OutputSchema;
}

/** @throws DefinitionError naming agent and field, where the schema has no JSON Schema or its root is no object. */
export function agentOutput<Output>(agent: string, schema: z.ZodType<Output>): AgentOutput<Output> {
  const parameters = objectSchema(
    { where: `Agent ${agent}`, what: 'output', advice: 'convert it by .transform()' },
    schema,
  );
  const strict = strictForm(agent, parameters);
  const name = `${agent.slice(0, 57)}_output`;
  const asked = strict ? { name, schema: strict, strict: true } : { name, schema: parameters };
  return { schema, parameters, asked };
}

/** undefined where strict mode cannot say it: then it is asked for without. */
function strictForm(agent: string, parameters: JsonObject): JsonObject | undefined {
  try {
    return strictParameters(agent, parameters);
  } catch (error) {
    if (error instanceof DefinitionError) return undefined;
    throw error;
  }
}

/** The value that an answer stands for, or sentences on what is wrong with it, for the model. */
export async function readOutput<Output>(
  { schema, parameters }: Pick<AgentOutput<Output>, 'schema' | 'parameters'>,
  answer: string,
): Promise<{ readonly value: Output } | { readonly problem: string }> {
  const object = objectIn(answer);
  if (object === null) return { problem: 'It is no JSON object.' };
  const checked = await schema.safeParseAsync(withoutForcedNulls(parameters, object));
  return checked.success ? { value: checked.data } : { problem: z.prettifyError(checked.error) };
}
