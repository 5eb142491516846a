/** JSON values as types. Pure; used on both sides of the sandbox. */

export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };

/** True for a plain JSON object; arrays and null are none. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether two values say the same, in whatever order their fields are. */
export function isSame(one: Json, other: Json): boolean {
  if (isList(one) || isList(other)) {
    if (!isList(one) || !isList(other) || one.length !== other.length) return false;
    return one.every((item, at) => isSame(item, other[at] ?? null));
  }
  if (!isJsonObject(one) || !isJsonObject(other)) return one === other;
  const fields = Object.keys(one);
  if (fields.length !== Object.keys(other).length) return false;
  return fields.every((field) => Object.hasOwn(other, field) && isSame(one[field] ?? null, other[field] ?? null));
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

/** Levels of what a model writes: far more than a schema has, and far less than what a stack can bear on any worker. */
export const MAX_DEPTH = 100;

/** The deepest nesting of a JSON text; brackets inside strings are none. */
export function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < text.length; i += 1) {
    const token = text[i];
    if (inString && token === '\\') i += 1;
    else if (token === '"') inString = !inString;
    else if (inString) continue;
    else if (token === '[' || token === '{') deepest = Math.max(deepest, (depth += 1));
    else if (token === ']' || token === '}') depth -= 1;
  }
  return deepest;
}
