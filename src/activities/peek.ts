/** Looks at values that may fight back: getters and traps that throw, broken prototypes. Knows nothing of what they are for. */
import { types } from 'node:util';

/** Values that stand in JSON without quotes, and those that JSON lacks but a reader understands. */
export function isBare(value: unknown): boolean {
  return value === null || ['number', 'bigint', 'boolean', 'undefined'].includes(typeof value);
}

/** Errors of other realms included. */
export function isError(value: unknown): boolean {
  return types.isNativeError(value) || value instanceof Error;
}

/** Its own `toString` where it has one (URLSearchParams, many value classes), else its class. */
export function ownWords(value: object): string {
  const own = peek(value, 'toString');
  if (typeof own === 'function' && own !== Object.prototype.toString) {
    const words: unknown = Reflect.apply(own, value, []);
    if (typeof words === 'string' && words !== '') return words;
  }
  return `[${className(value)}]`;
}

export function className(value: object): string {
  const constructor = peek(value, 'constructor');
  return (typeof constructor === 'function' && peekString(constructor, 'name')) || 'object';
}

/** A property, or undefined where reading it throws. */
export function peek(value: object, key: PropertyKey): unknown {
  try {
    return Reflect.get(value, key);
  } catch {
    return undefined;
  }
}

export function peekString(value: object, key: PropertyKey): string {
  const found = peek(value, key);
  return typeof found === 'string' ? found : '';
}
