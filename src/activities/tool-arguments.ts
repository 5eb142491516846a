/** Whether a call's arguments fit its tool: by zod, or by JSON Schema. Says why not in words for the model. */
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { DefinitionError } from '../agents/definition-error.js';
import type { ToolDefinition } from '../agents/define-tool.js';
import { withoutForcedNulls } from '../agents/json-schema.js';
import { cutText } from '../conversation/cut-text.js';
import type { JsonObject } from '../conversation/json.js';
import { compileJsonSchema, type JsonSchemaCheck } from './json-schema-check.js';

export type CheckedArguments = { readonly value: unknown } | { readonly text: string; readonly isError: true };

const MAX_PROBLEMS_CHARS = 2000;
/** By the schema's text: the same MCP tool comes with every run anew. */
const compiled = new LRUCache<string, JsonSchemaCheck>({ max: 2000 });

export async function checkArguments(tool: ToolDefinition, given: JsonObject): Promise<CheckedArguments> {
  const args = tool.strictParameters === undefined ? given : withoutForcedNulls(tool.parameters, given);
  if (tool.input === undefined) {
    const problems = checkOf(tool)(args);
    return problems === undefined ? { value: args } : misfit(tool, problems);
  }
  const parsed = await tool.input.safeParseAsync(args);
  return parsed.success ? { value: parsed.data } : misfit(tool, z.prettifyError(parsed.error));
}

/**
 * Compiles the schema of a tool without zod, once.
 * @throws DefinitionError naming the tool, where it does not compile.
 */
export function checkOf({ name, parameters }: Pick<ToolDefinition, 'name' | 'parameters'>): JsonSchemaCheck {
  const key = JSON.stringify(parameters);
  let check = compiled.get(key);
  if (check === undefined) {
    try {
      check = compileJsonSchema(parameters);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new DefinitionError(`Tool ${name}: its parameters are no JSON Schema that can be checked (${why}).`);
    }
    compiled.set(key, check);
  }
  return check;
}

function misfit(tool: ToolDefinition, problems: string): CheckedArguments {
  const told = cutText(problems, MAX_PROBLEMS_CHARS);
  return { text: `Error: the arguments do not fit the tool ${tool.name}, so it was not run.\n${told}`, isError: true };
}
