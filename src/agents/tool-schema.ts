/** zod to the JSON Schema that a model sees. What cannot be said in JSON Schema is refused here, when the tool is defined. */
import { z } from 'zod';
import { isJsonObject, type JsonObject } from '../conversation/json.js';
import { DefinitionError, shown } from './definition-error.js';

/**
 * The JSON Schema of a tool's arguments, as the model has to write them (zod's input side).
 * @throws DefinitionError naming tool and field, where the schema has no JSON Schema or its root is no object.
 */
export function toolParameters(tool: string, input: z.ZodType): JsonObject {
  return objectSchema({ where: `Tool ${tool}`, what: 'input', advice: 'convert it in execute()' }, input);
}

/** Whose schema it is, for error sentences. */
export interface SchemaSubject {
  /** E.g. `Tool read`. */
  readonly where: string;
  readonly what: 'input' | 'output';
  /** What to do about a value that JSON does not have. */
  readonly advice: string;
}

/** The JSON Schema of one object, as the model has to write it. @throws DefinitionError as {@link toolParameters}. */
export function objectSchema(subject: SchemaSubject, zodSchema: z.ZodType): JsonObject {
  if (!isZod4(zodSchema)) {
    throw new DefinitionError(
      `${subject.where}: the ${subject.what} is ${shown(zodSchema)}; it must be a zod 4 schema, z.object({ … }).${
        subject.what === 'input' ? ' A JSON Schema goes into parameters.' : ''
      }`,
    );
  }
  const { $schema: _, ...parameters } = withoutReferenceAtRoot(jsonSchema(subject, zodSchema));
  if (parameters['type'] !== 'object' || !isJsonObject(parameters)) {
    throw new DefinitionError(
      `${subject.where}: the ${subject.what} must be one object, z.object({ … }), since providers take nothing else (a union goes into a field of it).`,
    );
  }
  return { ...parameters, properties: isJsonObject(parameters['properties']) ? parameters['properties'] : {} };
}

/** By its form: it may come from another copy of zod. */
function isZod4(schema: unknown): boolean {
  return typeof schema === 'object' && schema !== null && '_zod' in schema;
}

/** What zod writes for an object that has an id of its own (`.meta({ id })`): nothing but a reference to it. */
function withoutReferenceAtRoot(schema: Record<string, unknown>): Record<string, unknown> {
  const { $ref, definitions, ...rest } = schema;
  const name = typeof $ref === 'string' ? /^#\/definitions\/(.+)$/s.exec($ref)?.[1] : undefined;
  if (name === undefined || !isJsonObject(definitions)) return schema;
  const key = name.replaceAll('~1', '/').replaceAll('~0', '~');
  const { [key]: target, ...others } = definitions;
  if (!isJsonObject(target)) return schema;
  const refersToItself = JSON.stringify(definitions).includes(JSON.stringify($ref));
  const needed = refersToItself ? definitions : others;
  return { ...rest, ...target, ...(Object.keys(needed).length > 0 && { definitions: needed }) };
}

function jsonSchema(subject: SchemaSubject, zodSchema: z.ZodType): Record<string, unknown> {
  try {
    const schema = z.toJSONSchema(zodSchema, {
      io: 'input',
      target: 'draft-7',
      unrepresentable: 'any',
      // Called once for every node: the only place where zod tells which field it is at.
      override: ({ zodSchema: node, jsonSchema: made, path }) => {
        refuse(subject, node._zod.def, path);
        // All names are texts, and some providers do not know the keyword.
        if (isVacuous(made.propertyNames)) delete made.propertyNames;
      },
    });
    return JSON.parse(JSON.stringify(schema)) as Record<string, unknown>;
  } catch (error) {
    if (error instanceof DefinitionError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new DefinitionError(
      `${subject.where}: the ${subject.what} is no zod 4 schema that has a JSON Schema (${why}).`,
    );
  }
}

function isVacuous(propertyNames: unknown): boolean {
  return JSON.stringify(propertyNames) === '{"type":"string"}';
}

/** @throws DefinitionError for a part of the schema that cannot be written as JSON. */
function refuse(
  { where, what, advice }: SchemaSubject,
  def: z.core.$ZodTypeDef,
  path: readonly (string | number)[],
): void {
  if (!UNREPRESENTABLE.has(def.type) && !isBigIntLiteral(def)) return;
  const field = fieldName(path);
  throw new DefinitionError(
    `${where}, ${field === '' ? what : `${what} field "${field}"`}: z.${def.type}() has no JSON Schema${
      isBigIntLiteral(def) ? ' for a bigint' : ''
    }, so no model can write it. Take a string or a number and ${advice}.`,
  );
}

function isBigIntLiteral(def: z.core.$ZodTypeDef): boolean {
  return (
    def.type === 'literal' &&
    (def as z.core.$ZodLiteralDef<z.core.util.Literal>).values.some((value) => typeof value === 'bigint')
  );
}

/** `when` for `properties/when`; a field may be called `properties` itself. */
function fieldName(path: readonly (string | number)[]): string {
  const names: (string | number)[] = [];
  let isName = false;
  for (const step of path) {
    const isKeyword: boolean = step === 'properties' && !isName;
    if (!isKeyword) names.push(step);
    isName = isKeyword;
  }
  return names.join('.');
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
  'transform',
  'file',
]);
