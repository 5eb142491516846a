/**
 * What the rest of Everlap has to know of a tool's JSON Schema: that it is one, and which nulls in arguments stand for a
 * field left out. Pure, safe anywhere: whether it compiles is found out where ajv is (activities/json-schema-check.ts).
 */
import { isJsonObject, type Json, type JsonObject } from '../conversation/json.js';
import { DefinitionError } from './definition-error.js';

/**
 * A tool's `parameters` as plain data of its own.
 * @throws DefinitionError naming tool and field, where it is no JSON or its root is no object.
 */
export function plainParameters(tool: string, parameters: unknown): JsonObject {
  if (!isJsonObject(parameters)) {
    throw new DefinitionError(`Tool ${tool}: parameters must be a JSON Schema, { type: "object", properties: { … } }.`);
  }
  const odd = findOdd(parameters, 'parameters');
  if (odd !== undefined) throw new DefinitionError(`Tool ${tool}: ${odd}; a JSON Schema is plain JSON.`);
  const schema = JSON.parse(JSON.stringify(parameters)) as JsonObject;
  if (schema['type'] !== 'object') {
    throw new DefinitionError(
      `Tool ${tool}: parameters.type must be "object", since providers take nothing else (a union goes into a field of it).`,
    );
  }
  const { properties = {} } = schema;
  if (!isJsonObject(properties)) {
    throw new DefinitionError(`Tool ${tool}: parameters.properties must be an object of schemas, one for each field.`);
  }
  return { ...schema, properties };
}

const MAX_DEPTH = 200;

/** Where a value is not what JSON can say, as the beginning of a sentence. */
function findOdd(value: unknown, path: string, depth = 0): string | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || value === undefined)
    return undefined;
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : `${path} is ${value}`;
  if (typeof value !== 'object') return `${path} is a ${typeof value}`;
  if (depth > MAX_DEPTH) return `${path} is nested deeper than ${MAX_DEPTH}, or in a circle`;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) {
    return `${path} is an object of a class (a zod schema goes into "input")`;
  }
  for (const [key, part] of Object.entries(value)) {
    const odd = findOdd(part, `${path}.${key}`, depth + 1);
    if (odd !== undefined) return odd;
  }
  return undefined;
}

/**
 * Arguments without the nulls that strict mode forces on a model where it would have left a field out. A null stays where
 * the schema itself allows one.
 * @param schema as the tool has it, before it was made strict.
 */
export function withoutForcedNulls(schema: JsonObject, args: JsonObject): JsonObject {
  const clean = cleaned(schema, [schema], args);
  return isJsonObject(clean) ? clean : args;
}

/** @param schemas those that the value may be meant by. */
function cleaned(root: JsonObject, schemas: readonly JsonObject[], value: Json): Json {
  const branches = schemas.flatMap((schema) => branchesOf(root, schema));
  if (Array.isArray(value)) {
    const items = branches.flatMap(({ items }) => (isJsonObject(items) ? [items] : []));
    return itemsOf(value).map((item) => cleaned(root, items, item));
  }
  if (!isJsonObject(value)) return value;
  const meant = branches.filter((branch) => fits(branch, value));
  const entries = Object.entries(value).flatMap(([key, part]): [string, Json][] => {
    const declaring = meant.flatMap((branch) => {
      const schema = propertyOf(branch, key);
      return schema === undefined ? [] : [{ schema, isRequired: itemsOf(branch['required']).includes(key) }];
    });
    const isForced = declaring.every(({ schema, isRequired }) => !isRequired && !allowsNull(root, schema));
    if (part === null && declaring.length > 0 && isForced) return [];
    const parts = declaring.map(({ schema }) => schema);
    return [[key, cleaned(root, parts, part)]];
  });
  return Object.fromEntries(entries);
}

/** Own properties only: a field may be called `constructor`. */
function propertyOf({ properties }: JsonObject, key: string): JsonObject | undefined {
  if (!isJsonObject(properties) || !Object.hasOwn(properties, key)) return undefined;
  const schema = properties[key];
  return isJsonObject(schema) ? schema : undefined;
}

/** The alternatives that a schema offers, references followed. */
function branchesOf(root: JsonObject, schema: JsonObject, depth = 0): readonly JsonObject[] {
  if (depth > MAX_DEPTH) return [];
  const target = typeof schema['$ref'] === 'string' ? pointed(root, schema['$ref']) : undefined;
  const inner = [
    ...(target ? [target] : []),
    ...listOf(schema, 'anyOf'),
    ...listOf(schema, 'oneOf'),
    ...listOf(schema, 'allOf'),
  ];
  return [schema, ...inner.flatMap((one) => branchesOf(root, one, depth + 1))];
}

function listOf(schema: JsonObject, keyword: string): readonly JsonObject[] {
  return itemsOf(schema[keyword]).filter((one): one is JsonObject => isJsonObject(one));
}

/** The items of a list; none where it is no list. (`Array.isArray` alone knows no read-only lists.) */
export function itemsOf(value: Json | undefined): readonly Json[] {
  const isList = (candidate: Json | undefined): candidate is readonly Json[] => Array.isArray(candidate);
  return isList(value) ? value : [];
}

/** `#/definitions/Point`; undefined where nothing is there. */
function pointed(root: JsonObject, reference: string): JsonObject | undefined {
  if (!reference.startsWith('#')) return undefined;
  let found: Json | undefined = root;
  for (const step of reference.slice(1).split('/').filter(Boolean)) {
    const key = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
    found = isJsonObject(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  }
  return isJsonObject(found) ? found : undefined;
}

/** Whether the constants by which alternatives are told apart (`type: { const: 'circle' }`) are those of the value. */
function fits(branch: JsonObject, value: JsonObject): boolean {
  const { properties } = branch;
  if (!isJsonObject(properties)) return true;
  return Object.entries(properties).every(([key, schema]) => {
    if (!isJsonObject(schema) || schema['const'] === undefined || !Object.hasOwn(value, key)) return true;
    return JSON.stringify(schema['const']) === JSON.stringify(value[key]);
  });
}

/** Whether null is among what the schema allows. Errs on the side of yes: such a null is left to the check. */
export function allowsNull(root: JsonObject, schema: JsonObject, depth = 0): boolean {
  if (depth > MAX_DEPTH) return true;
  const { type, $ref } = schema;
  if ('const' in schema) return schema['const'] === null;
  if (Array.isArray(schema['enum'])) return schema['enum'].includes(null);
  if (typeof type === 'string') return type === 'null';
  if (Array.isArray(type)) return type.includes('null');
  if (typeof $ref === 'string') {
    const target = pointed(root, $ref);
    return target === undefined || allowsNull(root, target, depth + 1);
  }
  const alternatives = [...listOf(schema, 'anyOf'), ...listOf(schema, 'oneOf')];
  if (alternatives.length > 0) return alternatives.some((one) => allowsNull(root, one, depth + 1));
  return listOf(schema, 'allOf').every((one) => allowsNull(root, one, depth + 1));
}
