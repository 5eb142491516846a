/** The one error for what is wrong in a definition: thrown when defined, never in a run. Safe anywhere. */
import { cut } from '../conversation/cut-text.js';

export class DefinitionError extends Error {
  override readonly name = 'DefinitionError';
}

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** @throws DefinitionError unless `name` is 1 to 64 of `a-z A-Z 0-9 _ -`, which every provider takes as a function name. */
export function checkName(what: string, name: unknown): void {
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw new DefinitionError(`${what} ${shown(name)}: a name must be 1 to 64 letters, digits, "_" or "-".`);
  }
}

/** Any value inside an error sentence: JSON where it has some, and short. */
export function shown(value: unknown): string {
  try {
    const json: string | undefined = JSON.stringify(value);
    return cut(json ?? String(value), 200);
  } catch {
    // A BigInt, a cycle, or a toJSON that throws.
    return typeof value === 'bigint' ? `${value}n` : `something of type ${typeof value}`;
  }
}

/** Those that a definition may have; the compiler sees to it that none is missing, of a union either. */
export type Fields<T> = Readonly<Record<T extends unknown ? keyof T : never, true>>;

/**
 * A misspelt field would be dropped without a word, and with it the limit or the approval that it was to set.
 * @throws DefinitionError beginning with `what`, unless `value` is an object without other fields than these.
 */
export function onlyFields(what: string, value: unknown, fields: Readonly<Record<string, true>>): void {
  const known = Object.keys(fields).join(', ');
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new DefinitionError(`${what} must be an object; its fields are ${known}.`);
  }
  for (const [field, given] of Object.entries(value)) {
    if (given === undefined || Object.hasOwn(fields, field)) continue;
    throw new DefinitionError(`${what} has no field ${shown(field)}; its fields are ${known}.`);
  }
}

/** The least that a number must be, with a sentence. */
export function atLeast(what: string, value: number, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  throw new DefinitionError(`${what} is ${shown(value)}; it must be a whole number of at least ${least}.`);
}

/** @throws DefinitionError unless `approval` is one. */
export function checkApproval(what: string, approval: unknown): void {
  if (typeof approval === 'function' || approval === 'never' || approval === 'always') return;
  throw new DefinitionError(`${what} is ${shown(approval)}; it must be "never", "always" or a function that decides.`);
}

/** @throws DefinitionError unless `value` is one of these. */
export function oneOf<T extends string>(what: string, value: T, allowed: readonly T[]): T {
  if (allowed.includes(value)) return value;
  throw new DefinitionError(`${what} is ${shown(value)}; it must be one of ${allowed.join(', ')}.`);
}

/** `Array.isArray`, without making a list of anything out of a typed one. */
export function isList(value: unknown): boolean {
  return Array.isArray(value);
}
