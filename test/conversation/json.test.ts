/** When two values of JSON say the same. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { isSame, type Json } from '../../src/conversation/json.js';

const json = fc.jsonValue().map((value): Json => JSON.parse(JSON.stringify(value)) as Json);

test('a value is the same as itself with its fields in another order, and as no other', () => {
  const turned = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(turned);
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).map(([field, inner]): [string, Json] => [field, turned(inner)]);
    return Object.fromEntries(entries.reverse());
  };
  fc.assert(fc.property(json, (value) => isSame(value, turned(value))));
  fc.assert(fc.property(json, json, (one, other) => isSame(one, other) === isSame(other, one)));
});

test.each<[Json, Json, boolean]>([
  [{ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 }, true],
  [{}, [], false],
  [[1, 2], [2, 1], false],
  [[1], [1, null], false],
  [{ a: null }, {}, false],
  [{ a: null }, { b: null }, false],
  [1, '1', false],
  [null, {}, false],
])('%j and %j: %s', (one, other, same) => {
  expect(isSame(one, other)).toBe(same);
});
