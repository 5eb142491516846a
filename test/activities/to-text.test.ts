import { Readable } from 'node:stream';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { errorText } from '../../src/activities/error-text.js';
import { toText } from '../../src/activities/to-text.js';
import { ToolError } from '../../src/agents/tool-error.js';

class Point {
  constructor(
    readonly x: number,
    readonly y: number,
  ) {}
}
class Money {
  readonly #cents = 1250;
  toString() {
    return `EUR ${this.#cents / 100}`;
  }
}
class Secret {
  readonly #hidden = 1;
  get seen() {
    return this.#hidden;
  }
}
const circular: { self?: unknown; list: unknown[] } = { list: [] };
circular.self = circular;
circular.list.push(circular);
const thrower = {
  fine: 1,
  get bad(): never {
    throw new Error('no such thing');
  },
};
const revoked = () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};
const shared = { a: 1 };
const nul = (...bytes: number[]) => Uint8Array.from([0, ...bytes]);

describe('plain values', () => {
  test.each<[unknown, string]>([
    ['as it is\n', 'as it is\n'],
    ['', ''],
    ['lone \ud83d!', 'lone \ufffd!'],
    [undefined, '(no result)'],
    [null, 'null'],
    [true, 'true'],
    [0.5, '0.5'],
    [NaN, 'NaN'],
    [-Infinity, '-Infinity'],
    [12345678901234567890n, '12345678901234567890'],
    [Symbol('s'), 'Symbol(s)'],
    [function named() {}, '[function named]'],
    [() => 1, '[function (anonymous)]'],
    [Point, '[function Point]'],
    [{ a: [1, 'x', null, { b: true }] }, '{"a":[1,"x",null,{"b":true}]}'],
    [{ a: undefined, b: [undefined], c: NaN, d: 1n }, '{"b":[undefined],"c":NaN,"d":1}'],
    [{ f: () => 1, s: Symbol('s') }, '{"f":"[function f]","s":"Symbol(s)"}'],
    [{ text: '\ud83d "q"' }, '{"text":"\\ud83d \\"q\\""}'],
    [{ '\ud83d': 1, __proto__: null }, '{"\\ud83d":1}'],
    [[, 1], '[undefined,1]'], // eslint-disable-line no-sparse-arrays -- a hole is the case
    [[shared, shared], '[{"a":1},{"a":1}]'],
  ])('%#', (value, text) => expect(toText(value)).toBe(text));

  test('JSON stays exactly what JSON.stringify makes of it', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 6 }).filter((v) => typeof v !== 'string'),
        (value) => {
          expect(toText(value)).toBe(JSON.stringify(value));
        },
      ),
    );
  });
});

describe('objects', () => {
  test.each<[string, unknown, string]>([
    ['date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['invalid date', { at: new Date(NaN) }, '{"at":"[invalid date]"}'],
    ['date inside', [new Date(0)], '["1970-01-01T00:00:00.000Z"]'],
    ['date of another realm', runInNewContext('new Date(0)'), '1970-01-01T00:00:00.000Z'],
    ['map', new Map<string, unknown>([['a', new Map([['b', 1]])]]), '{"a":{"b":1}}'],
    ['map with other keys', new Map<unknown, unknown>([[{ k: 1 }, 'v']]), '[[{"k":1},"v"]]'],
    ['set', { s: new Set([1, 'a']) }, '{"s":[1,"a"]}'],
    ['class', new Point(1, 2), '{"x":1,"y":2}'],
    ['own toString', { price: new Money() }, '{"price":"EUR 12.5"}'],
    ['nothing to see', new Secret(), '[Secret]'],
    ['null prototype', Object.create(null), '{}'],
    ['regexp', /a+/g, '/a+/g'],
    ['url', new URL('http://a.example/b'), 'http://a.example/b'],
    ['query', new URLSearchParams({ a: '1' }), 'a=1'],
    ['headers', new Headers({ a: '1' }), '{"a":"1"}'],
    ['boxed', [Object('s'), Object(1), Object(2n)], '["s",1,2]'],
    ['toJSON', { toJSON: () => ({ shown: true }) }, '{"shown":true}'],
    ['toJSON to undefined', { a: { toJSON: () => undefined } }, '{"a":undefined}'],
    [
      'toJSON that throws',
      {
        b: 1,
        toJSON: () => {
          throw new Error('x');
        },
      },
      '{"b":1,"toJSON":"[function toJSON]"}',
    ],
    [
      'toJSON to itself',
      (() => {
        const o = { toJSON: (): unknown => o };
        return o;
      })(),
      '{"toJSON":"[function toJSON]"}',
    ],
    ['circular', circular, '{"list":["[circular]"],"self":"[circular]"}'],
    ['getter that throws', thrower, '{"fine":1,"bad":"[unreadable: no such thing]"}'],
    [
      'revoked proxy',
      [revoked(), 1],
      '["[unreadable: TypeError: Cannot perform \'getPrototypeOf\' on a proxy that has been revoked]",1]',
    ],
    ['error', { e: new TypeError('bad', { cause: new Error('why') }) }, '{"e":"TypeError: bad (cause: why)"}'],
    ['promise', [Promise.resolve(1)], '["[a promise that was not awaited]"]'],
    ['thenable', { p: { then() {} } }, '{"p":"[a promise that was not awaited]"}'],
    ['stream', Readable.from(['a']), '[Readable: a stream that was not read]'],
    ['web stream', new ReadableStream(), '[ReadableStream: a stream that was not read]'],
    [
      'async generator',
      (async function* () {
        yield 1;
      })(),
      '[a generator that was not run]',
    ],
    [
      'generator',
      (function* () {
        yield 1;
      })(),
      '[a generator that was not run]',
    ],
    [
      'response',
      new Response('x', { status: 404, statusText: 'Not Found' }),
      '[Response 404 Not Found of no URL; its body was not read]',
    ],
    ['blob', new Blob(['abc'], { type: 'text/plain' }), '[Blob of 3 bytes, text/plain; not read]'],
    ['weak map', new WeakMap(), '[WeakMap]'],
  ])('%s', (_, value, text) => expect(toText(value)).toBe(text));
});

describe('bytes', () => {
  test.each<[string, unknown, string]>([
    ['text', Buffer.from('häl😀\n'), 'häl😀\n'],
    ['text with a mark in front', Buffer.from('\ufeffa'), 'a'],
    ['part of a buffer', Buffer.from('xabcx').subarray(1, 4), 'abc'],
    ['array buffer', new TextEncoder().encode('abc').buffer, 'abc'],
    ['view', new DataView(new TextEncoder().encode('abc').buffer, 1), 'bc'],
    [
      'shared',
      (() => {
        const b = new SharedArrayBuffer(2);
        new Uint8Array(b).fill(65);
        return b;
      })(),
      'AA',
    ],
    ['nothing', Buffer.alloc(0), ''],
    ['binary', nul(1, 2), '[binary data, 3 bytes; in base64: AAEC]'],
    ['no utf8', Buffer.from([0xff, 0xfe]), '[binary data, 2 bytes; in base64: //4=]'],
    ['inside', { b: Buffer.from('abc') }, '{"b":"abc"}'],
    ['numbers', new Float32Array([1.5, 2]), '[1.5,2]'],
    ['big numbers', new BigInt64Array([1n]), '[1]'],
  ])('%s', (_, value, text) => expect(toText(value)).toBe(text));

  test('much binary data: its size and its beginning', () => {
    expect(toText(nul(...new Array<number>(999).fill(7)))).toMatch(
      /^\[binary data, 1000 bytes; the first 48 in base64: [\w+/]{64}\]$/,
    );
  });
});

describe('bounds', () => {
  test('large strings and lists come whole', () => {
    const large = 'x'.repeat(50_000_000);
    expect(toText(large) === large).toBe(true);
    expect(toText([large]).length).toBe(large.length + 4);
    expect(toText(new Array(1_000_000).fill(1)).length).toBe(2_000_001);
  });

  test('what unfolds without end is cut, and says so', () => {
    let doubling: unknown[] = [];
    for (let level = 0; level < 60; level += 1) doubling = [doubling, doubling];
    const endless = new Set([1]);
    endless[Symbol.iterator] = function* () {
      for (;;) yield 1;
    };
    for (const value of [doubling, new Array(4_000_000_000), endless, new Array(100).fill('x'.repeat(1_000_000))]) {
      expect(toText(value).slice(-100)).toContain('[… cut here: more than 2000000 values or 64000000 characters]');
    }
  }, 60_000);

  test('deep nesting is cut where it is deep', () => {
    let deep: unknown = 'bottom';
    for (let level = 0; level < 100_000; level += 1) deep = { deep };
    expect(toText(deep)).toContain('"[nested deeper than 200]"}}}');
    let fits: unknown = 'bottom';
    for (let level = 0; level < 200; level += 1) fits = [fits];
    expect(toText(fits)).toBe(JSON.stringify(fits));
  });
});

/** Throws `error` whatever is done with it, in one way each. */
const fighting = (error: unknown) =>
  (['get', 'ownKeys', 'getPrototypeOf', 'getOwnPropertyDescriptor', 'has'] as const).map(
    (trap) => () => new Proxy({ a: 1 }, { [trap]: () => raise(error) }),
  );
const raise = (error: unknown): never => {
  throw error;
};

test('no value whatsoever makes it throw, and its text is well formed', () => {
  // Made on demand: fast-check itself looks into values, which some of these do not stand.
  const odd = fc.constantFrom<() => unknown>(
    ...fighting(1),
    ...fighting(new Proxy(new Error('trap'), { get: () => raise(new Error('again')) })),
    () => circular,
    () => thrower,
    revoked,
    () => new Proxy({}, { get: () => () => raise(1) }),
    ...[Map, Set, Error, Date, Uint8Array, Promise, Response, Headers, Blob].map(
      (type) => () => Object.create(type.prototype) as unknown,
    ),
    () => ({ [Symbol.toPrimitive]: () => raise(1), toString: () => raise(1) }),
    () => ({ constructor: null, toString: null }),
    () => Object.assign(new Error('e'), { cause: circular, errors: [new Error('f'), revoked()] }),
    () => '\ud800',
    () => ['\udfff'],
    () => globalThis,
    () => process,
    () => Symbol.iterator,
    () => Object.assign(Object.create({ toString: () => '\ud800' }) as object),
    () => Object.defineProperty(() => 1, 'name', { value: Symbol('n') }),
  );
  const anything = fc
    .anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withSparseArray: true,
      withNullPrototype: true,
      withObjectString: true,
      withBoxedValues: true,
      withUnicodeString: true,
      maxDepth: 4,
    })
    .map((value) => () => value);
  fc.assert(
    fc.property(fc.array(fc.oneof(anything, odd), { minLength: 1, maxLength: 4 }), (made) => {
      const values = made.map((make) => make());
      const [value] = values;
      const error = new Error('x', { cause: value });
      for (const text of [toText(value), toText(values), toText({ values }), errorText(value), toText(error)]) {
        expect(typeof text).toBe('string');
        expect(/\p{Cs}/u.test(text)).toBe(false);
      }
      expect(errorText(value).length).toBeLessThanOrEqual(2000);
    }),
    { numRuns: 300 },
  );
}, 60_000);

describe('errorText', () => {
  const loop = new Error('loop');
  loop.cause = new Error('other', { cause: loop });
  test.each<[string, unknown, string]>([
    ['message', new Error('It broke.'), 'It broke.'],
    ['name', new RangeError('too far'), 'RangeError: too far'],
    ['for the model', new ToolError('There is no file a.'), 'There is no file a.'],
    [
      'causes',
      new TypeError('fetch failed', { cause: new Error('a', { cause: 'b' }) }),
      'TypeError: fetch failed (cause: a (cause: b))',
    ],
    ['cause as data', new Error('a', { cause: { code: 'X', more: {} } }), 'a (cause: code: X)'],
    [
      'aggregate',
      Object.assign(new AggregateError([new Error('v4'), new Error('v6')]), { code: 'ECONNREFUSED' }),
      'AggregateError: ECONNREFUSED; v4; v6',
    ],
    ['no message', new TypeError(), 'TypeError: no message'],
    ['a string', 'it broke', 'it broke'],
    ['nothing', undefined, 'undefined was thrown, which is no error.'],
    ['an empty string', '', 'An error without a message.'],
    ['error-like', { name: 'Odd', message: 'it broke' }, 'Odd: it broke'],
    ['data', { code: 7, deep: {} }, 'code: 7'],
    ['of another realm', runInNewContext('new TypeError("far")'), 'TypeError: far'],
    [
      'message that throws',
      Object.defineProperty(new Error(), 'message', {
        get: () => {
          throw 1;
        },
      }),
      'Error: no message',
    ],
  ])('%s', (_, error, text) => expect(errorText(error)).toBe(text));

  test('is bounded, in length and in causes, and keeps the end of a long message', () => {
    expect(errorText(loop)).toMatch(/^loop \(cause: other \(cause: loop/);
    const text = errorText(new Error(`begin ${'😀'.repeat(2_000_000)} end`));
    expect(text.length).toBeLessThanOrEqual(2000);
    expect(text).toMatch(/^begin .*characters left out.* end$/s);
    expect(errorText(new AggregateError(new Array(1e5).fill(new Error('m')), 'many'))).toMatch(
      /^AggregateError: many(; m){7}$/,
    );
  });

  test('has no stack', () => expect(errorText(new Error('x'))).not.toContain('to-text.test'));
});
