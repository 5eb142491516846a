import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { DefinitionError } from '../../src/agents/definition-error.js';
import { toolParameters } from '../../src/agents/tool-schema.js';

const parameters = (input: z.ZodType) => toolParameters('t', input);
const field = (schema: z.ZodType) => parameters(z.object({ f: schema }))['properties'];
const Tree = z.object({
  name: z.string(),
  get children() {
    return z.array(Tree);
  },
});

describe('has no JSON Schema: refused, naming tool and field', () => {
  test.each<[string, z.ZodType, RegExp]>([
    ['a date', z.object({ when: z.date() }), /^Tool t, input field "when": z\.date\(\)/],
    ['a date made of a text', z.object({ when: z.coerce.date() }), /"when": z\.date\(\)/],
    ['deep down', z.object({ a: z.object({ b: z.array(z.object({ c: z.date() })) }) }), /"a\.b\.items\.c": z\.date/],
    ['a field called properties', z.object({ properties: z.date() }), /"properties": z\.date/],
    ['a bigint', z.object({ n: z.bigint() }), /"n": z\.bigint/],
    ['a bigint with a default', z.object({ n: z.bigint().default(5n) }), /"n": z\.bigint/],
    ['a bigint as a literal', z.object({ n: z.literal(5n) }), /"n": z\.literal\(\).*bigint/],
    ['a map', z.object({ m: z.map(z.string(), z.string()) }), /"m": z\.map/],
    ['a set', z.object({ s: z.set(z.string()) }), /"s": z\.set/],
    ['a symbol', z.object({ s: z.symbol() }), /"s": z\.symbol/],
    ['a function', z.object({ f: z.function() }), /"f": z\.function/],
    ['void', z.object({ v: z.void() }), /"v": z\.void/],
    ['NaN', z.object({ v: z.nan() }), /"v": z\.nan/],
    ['a class', z.object({ u: z.instanceof(URL) }), /"u": z\.custom/],
    ['a transform without an input', z.object({ t: z.transform(String) }), /"t": z\.transform/],
    ['in a union', z.object({ u: z.union([z.string(), z.date()]) }), /"u\.anyOf\.1": z\.date/],
    ['in a record', z.object({ r: z.record(z.string(), z.date()) }), /"r\.additionalProperties": z\.date/],
    ['in a tuple', z.object({ t: z.tuple([z.string(), z.bigint()]) }), /"t\.items\.1": z\.bigint/],
    ['optional', z.object({ d: z.date().optional() }), /"d": z\.date/],
    ['beside the fields', z.object({}).catchall(z.date()), /z\.date/],
  ])('%s', (_, input, words) => {
    expect(() => parameters(input)).toThrow(DefinitionError);
    expect(() => parameters(input)).toThrow(words);
  });
});

describe('the root is no object: refused', () => {
  test.each<[string, z.ZodType]>([
    ['a text', z.string()],
    ['a list', z.array(z.string())],
    ['a union', z.union([z.object({ a: z.string() }), z.object({ b: z.string() })])],
    [
      'a discriminated union',
      z.discriminatedUnion('k', [z.object({ k: z.literal('a') }), z.object({ k: z.literal('b') })]),
    ],
    ['nullable', z.object({}).nullable()],
    ['anything', z.any()],
  ])('%s', (_, input) => {
    expect(() => parameters(input)).toThrow(/^Tool t: the input must be one object/);
  });
});

describe('is taken', () => {
  test('refinements, which the model does not see', () => {
    expect(parameters(z.object({ a: z.string().refine(() => true) }).refine(() => true))).toEqual({
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
    });
  });

  test('what is transformed, as the model writes it', () => {
    expect(field(z.string().transform(Number))).toEqual({ f: { type: 'string' } });
    expect(field(z.preprocess(String, z.string()))).toEqual({ f: { type: 'string' } });
    expect(field(z.codec(z.string(), z.number(), { decode: Number, encode: String }))).toEqual({
      f: { type: 'string' },
    });
    expect(parameters(z.object({ a: z.string() }).transform(({ a }) => a))).toMatchObject({ type: 'object' });
  });

  test('defaults are optional to the model', () => {
    expect(parameters(z.object({ a: z.string().default('x'), b: z.number().optional() }))).not.toHaveProperty(
      'required',
    );
  });

  test('records, enums, nullable, unions in a field', () => {
    expect(field(z.record(z.string(), z.number()))).toMatchObject({
      f: { type: 'object', additionalProperties: { type: 'number' } },
    });
    expect(field(z.enum(['a', 'b']))).toEqual({ f: { type: 'string', enum: ['a', 'b'] } });
    expect(field(z.union([z.string(), z.number()]))).toBeDefined();
    expect(parameters(z.record(z.string(), z.number()))).toMatchObject({ type: 'object', properties: {} });
    expect(parameters(z.intersection(z.object({ a: z.string() }), z.object({ b: z.string() })))).toMatchObject({
      type: 'object',
    });
  });

  test('recursion, and JSON of any kind', () => {
    expect(parameters(Tree)).toMatchObject({ properties: { children: { type: 'array', items: { $ref: '#' } } } });
    expect(parameters(z.object({ j: z.json() }))).toHaveProperty('definitions');
  });

  test('an object with an id of its own, alone, with others, and within itself', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
    expect(parameters(z.object({ a: z.string() }).meta({ id: 'Root', title: 'The root' }))).toEqual({
      ...schema,
      title: 'The root',
    });
    const inner = z.object({ a: z.string() }).meta({ id: 'Inner/1' });
    expect(parameters(z.object({ inner }).meta({ id: 'Outer' }))).toEqual({
      type: 'object',
      properties: { inner: { $ref: '#/definitions/Inner~11' } },
      required: ['inner'],
      definitions: { 'Inner/1': schema },
    });
    const Self = z
      .object({
        get kids() {
          return z.array(Self);
        },
      })
      .meta({ id: 'Self/x y' });
    const kids = { type: 'array', items: { $ref: '#/definitions/Self~1x y' } };
    expect(parameters(Self)).toMatchObject({
      properties: { kids },
      definitions: { 'Self/x y': { properties: { kids } } },
    });
  });

  test('a record without a keyword that says nothing', () => {
    expect(field(z.record(z.string(), z.number()))).toEqual({
      f: { type: 'object', additionalProperties: { type: 'number' } },
    });
    expect(field(z.record(z.string().regex(/^a/), z.number()))).toMatchObject({
      f: { propertyNames: { pattern: '^a' } },
    });
  });

  test('descriptions of fields', () => {
    expect(field(z.string().describe('A path.'))).toEqual({ f: { type: 'string', description: 'A path.' } });
  });

  test('no parameters', () => {
    expect(parameters(z.object({}))).toEqual({ type: 'object', properties: {} });
  });
});

/** Schemas put together at random: either JSON that stands for itself, or an error that names the tool. */
test('whatever is put together: a schema without undefined in it, or a DefinitionError', () => {
  const { schema } = fc.letrec<{ schema: z.ZodType }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom<z.ZodType>(
        z.string(),
        z.number().int(),
        z.boolean(),
        z.date(),
        z.bigint(),
        z.null(),
        z.any(),
        z.undefined(),
        z.never(),
      ),
      tie('schema').map((one) => z.array(one)),
      tie('schema').map((one) => one.optional()),
      tie('schema').map((one) => one.nullable()),
      fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((many) => z.union(many)),
      fc.dictionary(fc.constantFrom('a', 'properties', 'items', 'c'), tie('schema')).map((shape) => z.object(shape)),
    ),
  }));
  fc.assert(
    fc.property(schema, (input) => {
      try {
        const made = parameters(input);
        expect(JSON.parse(JSON.stringify(made))).toEqual(made);
        expect(made).toMatchObject({ type: 'object', properties: expect.any(Object) as unknown });
      } catch (error) {
        expect(error).toBeInstanceOf(DefinitionError);
        expect((error as Error).message).toMatch(/^Tool t[:,]/);
      }
    }),
  );
});
