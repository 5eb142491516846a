/**
 * A tool's JSON Schema in the form that strict mode takes: closed objects, every field required, what was optional
 * nullable instead. The rules are those of OpenAI's structured outputs, "Supported schemas". Pure, safe anywhere.
 */
import { isJsonObject, type Json, type JsonObject } from '../conversation/json.js';
import { DefinitionError, shown } from './definition-error.js';
import { allowsNull, itemsOf } from './json-schema.js';

/** Stay as they are. */
const KEPT: ReadonlySet<string> = new Set([
  'type',
  'title',
  'description',
  'enum',
  'const',
  'multipleOf',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'minItems',
  'maxItems',
]);
/** Refine a value without changing its shape: the model reads of them in the description, and the tool still checks them. */
const NOTED: ReadonlySet<string> = new Set([
  'minLength',
  'maxLength',
  'pattern',
  'format',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'default',
  'examples',
]);
const DROPPED: ReadonlySet<string> = new Set([
  '$schema',
  '$id',
  'id',
  '$anchor',
  '$comment',
  'deprecated',
  'readOnly',
  'writeOnly',
  'contentEncoding',
  'contentMediaType',
]);
const FORMATS: ReadonlySet<Json> = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uuid',
]);
const MAX_DEPTH = 200;

/**
 * The strict form of a tool's parameters.
 * @throws DefinitionError naming tool, field and keyword, where there is none.
 */
export function strictParameters(tool: string, parameters: JsonObject): JsonObject {
  return new Strictly(tool, parameters).schema(parameters, []);
}

class Strictly {
  constructor(
    private readonly tool: string,
    private readonly root: JsonObject,
  ) {}

  schema(schema: JsonObject, path: readonly string[]): JsonObject {
    if (path.length > MAX_DEPTH) this.refuse(path, 'schema', 'it is nested too deeply');
    if (typeof schema['$ref'] === 'string') return { $ref: schema['$ref'], ...this.definitions(schema, path) };
    const only = soleOf(schema['allOf']);
    // What zod writes for a reference with a description of its own.
    if (only && Object.keys(schema).every((key) => key === 'allOf' || key === 'title' || key === 'description')) {
      return this.schema(only, path);
    }
    const kept: Record<string, Json> = {};
    const notes: string[] = [];
    for (const [keyword, value] of Object.entries(schema)) {
      const isTaken =
        KEPT.has(keyword) || (keyword === 'format' && FORMATS.has(value)) || (keyword === 'pattern' && isPlain(value));
      if (isTaken) kept[keyword] = value;
      else if (NOTED.has(keyword)) notes.push(`${keyword}: ${shown(value)}`);
      else if (!DROPPED.has(keyword)) Object.assign(kept, this.keyword(keyword, value, schema, path));
    }
    kept['type'] ??= typeOf(schema) ?? null;
    if (kept['type'] === null) {
      delete kept['type'];
      if (kept['anyOf'] === undefined) this.refuse(path, 'type', 'without one, anything is allowed');
    }
    if (kept['type'] === 'object' || itemsOf(kept['type']).includes('object')) {
      Object.assign(kept, this.object(schema, path));
    }
    return notes.length === 0 ? kept : { ...kept, description: describe(schema['description'], notes) };
  }

  private keyword(keyword: string, value: Json, schema: JsonObject, path: readonly string[]): JsonObject {
    switch (keyword) {
      case 'properties':
      case 'required':
      case 'additionalProperties':
        return {};
      case '$defs':
      case 'definitions':
        return this.definitions({ [keyword]: value }, path);
      case 'items':
        if (isJsonObject(value)) return { items: this.schema(value, [...path, '[]']) };
        break;
      case 'anyOf':
      case 'oneOf':
        if (path.length === 0) this.refuse(path, keyword, 'the root must be one object');
        // Exactly one of them, or at least one: the model writes one, and the tool checks it.
        if (!('anyOf' in schema && 'oneOf' in schema)) {
          return { anyOf: itemsOf(value).flatMap((one) => (isJsonObject(one) ? [this.schema(one, path)] : [])) };
        }
        break;
      default:
    }
    return this.refuse(path, keyword, 'strict mode does not know it');
  }

  private definitions(schema: JsonObject, path: readonly string[]): JsonObject {
    const found = ['$defs', 'definitions'].flatMap((keyword): [string, Json][] => {
      const definitions = schema[keyword];
      if (!isJsonObject(definitions)) return [];
      const strict = Object.entries(definitions).map(([name, one]): [string, Json] => [
        name,
        isJsonObject(one) ? this.schema(one, [...path, name]) : one,
      ]);
      return [[keyword, Object.fromEntries(strict)]];
    });
    return Object.fromEntries(found);
  }

  private object(schema: JsonObject, path: readonly string[]): JsonObject {
    const { additionalProperties } = schema;
    if (additionalProperties !== undefined && additionalProperties !== false) {
      this.refuse(path, 'additionalProperties', 'strict objects have no fields but those named');
    }
    const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
    const names = Object.keys(properties);
    if (names.length === 0 && path.length > 0 && additionalProperties === undefined) {
      this.refuse(path, 'properties', 'an object of any fields cannot be said in strict mode');
    }
    const strict = Object.entries(properties).map(([name, one]): [string, Json] => {
      const at = [...path, name];
      if (!isJsonObject(one)) return this.refuse(at, String(one), 'without a type, anything is allowed');
      const schemaOfField = this.schema(one, at);
      const isOptional = !itemsOf(schema['required']).includes(name);
      return [name, isOptional && !allowsNull(this.root, one) ? nullable(schemaOfField) : schemaOfField];
    });
    return { properties: Object.fromEntries(strict), required: names, additionalProperties: false };
  }

  private refuse(path: readonly string[], keyword: string, why: string): never {
    const field = path.length === 0 ? 'input' : `input field "${path.join('.')}"`;
    throw new DefinitionError(
      `Tool ${this.tool}, ${field}: strict mode is not possible with the JSON Schema keyword "${keyword}" (${why}). ` +
        'Change the schema, or leave out strict.',
    );
  }
}

function nullable(schema: JsonObject): JsonObject {
  const { type, description, anyOf, ...rest } = schema;
  const said: JsonObject = description === undefined ? {} : { description };
  const isPlain = type !== undefined && anyOf === undefined && !('enum' in schema) && !('const' in schema);
  if (isPlain) return { ...schema, type: [...(typeof type === 'string' ? [type] : itemsOf(type)), 'null'] };
  if (anyOf !== undefined && type === undefined)
    return { ...rest, ...said, anyOf: [...itemsOf(anyOf), { type: 'null' }] };
  const { description: _, ...one } = schema;
  return { ...said, anyOf: [one, { type: 'null' }] };
}

function soleOf(list: Json | undefined): JsonObject | undefined {
  const [only, ...others] = itemsOf(list);
  return others.length === 0 && isJsonObject(only) ? only : undefined;
}

/** Strict mode takes no look-around. */
function isPlain(pattern: Json): boolean {
  return typeof pattern === 'string' && !/\(\?[=!<]/.test(pattern);
}

/** The type of constants that have none written beside them. */
function typeOf(schema: JsonObject): Json | undefined {
  const values = 'const' in schema ? [schema['const']] : itemsOf(schema['enum']);
  const types = [...new Set(values.map((value) => (value === null ? 'null' : typeof value)))];
  if (types.length === 0 || types.includes('object')) return undefined;
  return types.length === 1 ? types[0] : types;
}

function describe(description: Json | undefined, notes: readonly string[]): string {
  const text = `(${notes.join(', ')})`;
  return typeof description === 'string' ? `${description} ${text}` : text;
}
