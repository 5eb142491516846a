/**
 * Checks values against JSON Schema, by ajv. Loaded only where a tool needs it: ajv takes a tenth of a second to load,
 * which workers without such tools should not pay. Knows schemas, not tools.
 */
import { createRequire } from 'node:module';
import type { ErrorObject, Options } from 'ajv';
import type { JsonObject } from '../conversation/json.js';
import { errorText } from './error-text.js';

/** Sentences on what is wrong, one a line; undefined where the value fits. */
export type JsonSchemaCheck = (value: unknown) => string | undefined;

const MAX_PROBLEMS = 20;
const require = createRequire(import.meta.url);

/**
 * Patterns as the field writes them: `u` is what the standard asks for, but some escapes that everybody uses are errors
 * with it.
 */
const regExp = Object.assign(
  (pattern: string): RegExp => {
    try {
      return new RegExp(pattern, 'u');
    } catch {
      return new RegExp(pattern);
    }
  },
  { code: 'regExp' },
);

const OPTIONS: Options = {
  allErrors: true,
  // Unknown keywords are words to JSON Schema, and formats annotations.
  strict: false,
  validateFormats: false,
  logger: false,
  // Each schema stands alone: two tools may use the same $id.
  addUsedSchema: false,
  code: { regExp },
};

/**
 * Compiles a schema of the dialect that its `$schema` names; without one it is taken as 2020-12 (MCP's own default), else
 * as draft 7, which differ in tuples only.
 * @throws Error with a sentence on why it does not compile.
 */
export function compileJsonSchema(schema: JsonObject): JsonSchemaCheck {
  const { $schema: dialect, ...rest } = schema;
  const compilers = [latest, draft7];
  if (typeof dialect === 'string' && /draft-0?[4-7]/.test(dialect)) compilers.reverse();
  let problem: unknown;
  for (const compiler of compilers) {
    const ajv = compiler();
    try {
      const validate = ajv.compile(rest);
      return (value) => (validate(value) === true ? undefined : problemsOf(validate.errors ?? []));
    } catch (error) {
      problem ??= error;
    } finally {
      // Else ajv would keep every schema that it has ever seen.
      ajv.removeSchema(rest);
    }
  }
  throw new Error(errorText(problem));
}

const latest = once(() => new (require('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js')).Ajv2020(OPTIONS));
const draft7 = once(() => new (require('ajv') as typeof import('ajv')).Ajv(OPTIONS));

/** A new compiler compiles its meta-schema first, which takes longer than a hundred tools. */
function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

/** As zod's `prettifyError` writes them, so that a model reads one language. */
function problemsOf(errors: readonly ErrorObject[]): string {
  const lines = errors.slice(0, MAX_PROBLEMS).map((error) => {
    const at = pathOf(error.instancePath);
    return `✖ ${sentenceOf(error)}${at === '' ? '' : `\n  → at ${at}`}`;
  });
  if (errors.length > MAX_PROBLEMS) lines.push(`… and ${errors.length - MAX_PROBLEMS} more`);
  return lines.join('\n');
}

function sentenceOf({ keyword, message = 'it does not fit', params }: ErrorObject): string {
  const about: Readonly<Record<string, unknown>> = params;
  switch (keyword) {
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return `Unrecognized key: "${String(about['additionalProperty'] ?? about['unevaluatedProperty'])}"`;
    case 'enum':
      return `Invalid option: expected one of ${JSON.stringify(about['allowedValues'])}`;
    case 'const':
      return `Invalid input: expected ${JSON.stringify(about['allowedValue'])}`;
    default:
      return `Invalid input: ${message}`;
  }
}

/** `/points/0/x` as `points[0].x` */
function pathOf(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, step) => (/^\d+$/.test(step) ? `${path}[${step}]` : path === '' ? step : `${path}.${step}`), '');
}
