/** zod to the JSON Schema that a model sees. What cannot be said in JSON Schema is refused here, when the tool is defined. */
import { z } from 'zod';
import { isJsonObject, type JsonObject } from '../conversation/json.js';
import { DefinitionError } from './definition-error.js';

/**
 * The JSON Schema of a tool's arguments, as the model has to write them (zod's input side).
 * @throws DefinitionError naming tool and field, where the schema has no JSON Schema or its root is no object.
 */
export function toolParameters(tool: string, input: z.ZodType): JsonObject {
  const schema = z.toJSONSchema(input, {
    io: 'input',
    target: 'draft-7',
    unrepresentable: 'any',
    // Called once for every node: the only place where zod tells which field it is at.
    override: ({ zodSchema, path }) => {
      const type = zodSchema._zod.def.type;
      if (UNREPRESENTABLE.has(type)) {
        const field = path.filter((step) => step !== 'properties').join('.');
        throw new DefinitionError(
          `Tool ${tool}, ${field === '' ? 'input' : `input field "${field}"`}: z.${type}() has no JSON Schema, so no model can write it. ` +
            'Take a string or a number and convert it in execute().',
        );
      }
    },
  });
  const { $schema: _, ...parameters } = JSON.parse(JSON.stringify(schema)) as Record<string, unknown>;
  if (parameters['type'] !== 'object' || !isJsonObject(parameters)) {
    throw new DefinitionError(
      `Tool ${tool}: the input must be one object, z.object({ … }), since providers take nothing else (a union goes into a field of it).`,
    );
  }
  return { ...parameters, properties: isJsonObject(parameters['properties']) ? parameters['properties'] : {} };
}

/** zod types whose input side cannot be written as JSON. */
const UNREPRESENTABLE: ReadonlySet<string> = new Set([
  'bigint',
  'date',
  'map',
  'set',
  'symbol',
  'undefined',
  'void',
  'function',
  'custom',
  'nan',
  'file',
]);
