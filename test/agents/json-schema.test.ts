/** Tools by JSON Schema, and strict mode: what is made of a schema, what is refused, which nulls are taken out again. */
import { DefinitionError, defineTool, type JsonSchemaToolOptions } from '../../src/index.js';
import fc from 'fast-check';
import { describe, expect, expectTypeOf, it, test } from 'vitest';
import { z } from 'zod';
import { checkArguments, checkOf } from '../../src/activities/tool-arguments.js';
import type { ToolDefinition } from '../../src/agents/define-tool.js';
import { withoutForcedNulls } from '../../src/agents/json-schema.js';
import type { Json, JsonObject } from '../../src/conversation/json.js';

const byJson = (parameters: JsonObject, more: Partial<JsonSchemaToolOptions> = {}): ToolDefinition =>
  defineTool({ name: 'plot', description: 'Plots.', parameters, execute: (args) => args, ...more });
const byZod = (input: z.ZodType, strict = false): ToolDefinition =>
  defineTool({ name: 'plot', description: 'Plots.', input, strict, execute: (args) => args });
const POINT = {
  type: 'object',
  properties: { x: { type: 'number' }, label: { type: 'string', minLength: 2 } },
  required: ['x'],
  additionalProperties: false,
} as const;

describe('a tool by JSON Schema', () => {
  test('types: the arguments are JSON; zod tools keep theirs; both together are no tool', () => {
    defineTool({
      name: 'plot',
      description: 'Plots.',
      parameters: POINT,
      approval: (args) => {
        expectTypeOf(args).toEqualTypeOf<JsonObject>();
        return true;
      },
      execute: (args) => expectTypeOf(args).toEqualTypeOf<JsonObject>(),
    });
    defineTool({
      name: 'plot',
      description: 'Plots.',
      input: z.object({ x: z.number() }),
      execute: (args) => expectTypeOf(args).toEqualTypeOf<{ x: number }>(),
    });
    const common = { name: 'plot', description: 'Plots.' };
    defineTool({ ...common, parameters: POINT, approval: ({ x }) => x === 1, execute: ({ x }) => x });
    const withInput = { ...common, input: z.object({ x: z.number() }) };
    defineTool({ ...withInput, approval: ({ x }) => x > 1, execute: ({ x }) => x + 1 });
    const withParameters = { ...common, parameters: POINT };
    defineTool({ ...withParameters, approval: ({ x }) => x === 1, execute: ({ x }) => x });
    const both = { name: 'plot', description: 'Plots.', input: z.object({}), parameters: POINT, execute: () => '' };
    // @ts-expect-error -- one of them
    expect(() => defineTool(both)).toThrow(/both input \(zod\) and parameters/);
  });

  test('arguments that fit pass as they are; the others are told as zod tells them', async () => {
    const tool = byJson(POINT);
    expect(await checkArguments(tool, { x: 1 })).toEqual({ value: { x: 1 } });
    const wrong = await checkArguments(tool, { x: 'one', label: 'a', more: true });
    expect(wrong).toEqual({
      isError: true,
      text: [
        'Error: the arguments do not fit the tool plot, so it was not run.',
        '✖ Unrecognized key: "more"',
        '✖ Invalid input: must be number\n  → at x',
        '✖ Invalid input: must NOT have fewer than 2 characters\n  → at label',
      ].join('\n'),
    });
    const zods = await checkArguments(byZod(z.object({ x: z.number() })), { x: 'one' });
    expect(zods).toMatchObject({
      text: expect.stringMatching(/^Error: the arguments do not fit .*\n✖ .*\n {2}→ at x$/) as string,
    });
  });

  test('a long list of problems is cut', async () => {
    const args = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`field${index}`, 1]));
    const checked = await checkArguments(byJson(POINT), args);
    expect('text' in checked && checked.text.length).toBeLessThan(2200);
  });

  test.each<[string, unknown, RegExp]>([
    ['no schema', 'object', /Tool plot: parameters must be a JSON Schema/],
    ['a list', [], /Tool plot: parameters must be a JSON Schema/],
    ['a zod schema', z.object({}), /Tool plot: parameters.* goes into "input"/],
    ['zod inside', { type: 'object', properties: { a: z.string() } }, /parameters\.properties\.a.*"input"/],
    ['a function', { type: 'object', properties: { a: () => 1 } }, /parameters\.properties\.a is a function/],
    ['NaN', { type: 'object', properties: { a: { minimum: Number.NaN } } }, /a\.minimum is NaN/],
    ['no type', { properties: {} }, /Tool plot: parameters\.type must be "object"/],
    ['another root', { type: 'array' }, /Tool plot: parameters\.type must be "object"/],
    ['several roots', { type: ['object', 'null'] }, /Tool plot: parameters\.type must be "object"/],
    ['properties as a list', { type: 'object', properties: [] }, /Tool plot: parameters\.properties/],
  ])('refused when defined: %s', (_, parameters, message) => {
    const define = () => byJson(parameters as JsonObject);
    expect(define).toThrow(message);
    expect(define).toThrow(DefinitionError);
  });

  test('a schema in a circle is refused, not followed', () => {
    const loop: Record<string, unknown> = { type: 'object' };
    loop['properties'] = { loop };
    expect(() => byJson(loop as JsonObject)).toThrow(/in a circle/);
  });

  test.each<[string, JsonObject]>([
    ['a type that there is not', { a: { type: 'text' } }],
    ['a reference to nowhere', { a: { $ref: '#/$defs/none' } }],
    ['a reference to the web', { a: { $ref: 'https://schemas.test/a.json' } }],
    ['a pattern that is none', { a: { type: 'string', pattern: '(' } }],
  ])('does not compile: %s', (_, properties) => {
    expect(() => checkOf(byJson({ type: 'object', properties }))).toThrow(DefinitionError);
    expect(() => checkOf(byJson({ type: 'object', properties }))).toThrow(/^Tool plot: its parameters/);
  });

  test.each<[string, JsonObject, Json, Json]>([
    ['2020-12 tuples', { prefixItems: [{ type: 'string' }], items: false }, ['a'], ['a', 1]],
    ['draft 7 tuples', { items: [{ type: 'string' }], additionalItems: false }, ['a'], ['a', 1]],
    ['patterns that are wrong in unicode mode', { pattern: "^[\\w\\'-]+$" }, "a-'b", 'a b'],
    ['patterns that need it', { pattern: '^\\p{L}+$' }, 'é', '1'],
    ['formats are words', { type: 'string', format: 'made-up' }, 'x', 1],
    ['unknown keywords are words', { type: 'string', 'x-order': 3 }, 'x', 1],
  ])('%s', async (_, schema, good, bad) => {
    const tool = byJson({ type: 'object', properties: { a: schema } });
    expect(await checkArguments(tool, { a: good })).toEqual({ value: { a: good } });
    expect(await checkArguments(tool, { a: bad })).toMatchObject({ isError: true });
  });

  test.each(['http://json-schema.org/draft-07/schema#', 'https://json-schema.org/draft/2020-12/schema'])(
    'two tools may share an $id, whatever dialect they name (%s)',
    (dialect) => {
      const schema = { $schema: dialect, $id: 'https://schemas.test/same', ...POINT };
      expect(checkOf(byJson(schema))({ x: 1 })).toBeUndefined();
      expect(checkOf(byJson({ ...schema, required: ['label'] }))({ x: 1 })).toMatch(/label/);
    },
  );

  test('the schema is the tool’s own: a later change of the object given changes nothing', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } } };
    const tool = byJson(schema);
    schema.properties.a.type = 'nonsense';
    expect(tool.parameters).toEqual({ type: 'object', properties: { a: { type: 'string' } } });
  });
});

describe('strict mode', () => {
  it('closes objects, requires every field, and makes what was optional nullable', () => {
    const tool = byZod(
      z.object({
        query: z.string().min(1).describe('What to look for.'),
        limit: z.number().default(10),
        sort: z.enum(['up', 'down']).optional().describe('The order.'),
        from: z.object({ day: z.iso.date().optional(), zone: z.string().nullable() }).optional(),
        tags: z.array(z.object({ name: z.string().optional() })),
        shape: z.discriminatedUnion('kind', [
          z.object({ kind: z.literal('circle'), r: z.number() }),
          z.object({ kind: z.literal('square'), side: z.number().optional() }),
        ]),
        maybe: z.string().nullish(),
      }),
      true,
    );
    expect(tool.parameters['required']).toEqual(['query', 'tags', 'shape']);
    expect(tool.strictParameters).toMatchObject({
      type: 'object',
      additionalProperties: false,
      required: ['query', 'limit', 'sort', 'from', 'tags', 'shape', 'maybe'],
      properties: {
        query: { type: 'string', description: 'What to look for. (minLength: 1)' },
        limit: { type: ['number', 'null'], description: '(default: 10)' },
        sort: { description: 'The order.', anyOf: [{ type: 'string', enum: ['up', 'down'] }, { type: 'null' }] },
        from: {
          type: ['object', 'null'],
          additionalProperties: false,
          required: ['day', 'zone'],
          properties: { day: { type: ['string', 'null'], format: 'date' }, zone: { type: ['string', 'null'] } },
        },
        tags: { type: 'array', items: { required: ['name'], properties: { name: { type: ['string', 'null'] } } } },
        shape: {
          anyOf: [
            { required: ['kind', 'r'], properties: { kind: { const: 'circle' } } },
            { required: ['kind', 'side'], properties: { side: { type: ['number', 'null'] } } },
          ],
        },
        maybe: { type: ['string', 'null'] },
      },
    });
    expect(JSON.stringify(tool.strictParameters)).not.toMatch(/oneOf|minLength"|default"/);
  });

  it('gives constants of several types their types', () => {
    const { strictParameters } = byZod(z.object({ n: z.literal(['a', 1, null]), m: z.literal([1, 2]) }), true);
    expect(strictParameters).toMatchObject({
      properties: { n: { type: ['string', 'number', 'null'], enum: ['a', 1, null] }, m: { type: 'number' } },
    });
  });

  it('follows references, and keeps recursive ones', () => {
    const tree = z.object({
      name: z.string(),
      get kids() {
        return z.array(tree).optional();
      },
    });
    const shared = z.object({ at: z.string().optional() }).meta({ id: 'Place' });
    const { strictParameters } = byZod(
      z.object({ tree, home: shared.describe('Home.'), work: shared.optional() }),
      true,
    );
    expect(strictParameters).toMatchObject({
      properties: { work: { anyOf: [{ $ref: '#/definitions/Place' }, { type: 'null' }] } },
      definitions: { Place: { required: ['at'], additionalProperties: false } },
    });
    expect(JSON.stringify(strictParameters)).not.toContain('allOf');
  });

  test.each<[string, z.ZodType, RegExp]>([
    ['a record', z.object({ all: z.record(z.string(), z.number()) }), /input field "all": .* "additionalProperties"/],
    [
      'a record of some names',
      z.object({ all: z.record(z.enum(['a']), z.number()) }),
      /field "all": .* "propertyNames"/,
    ],
    [
      'an open object',
      z.object({ any: z.looseObject({ a: z.string() }) }),
      /input field "any": .*"additionalProperties"/,
    ],
    ['an open root', z.looseObject({ a: z.string() }), /Tool plot, input: .*"additionalProperties"/],
    ['an unknown', z.object({ any: z.unknown() }), /input field "any": .*"type"/],
    ['a tuple', z.object({ pair: z.tuple([z.string(), z.number()]) }), /input field "pair": .*"items"/],
    ['deep inside', z.object({ a: z.array(z.object({ b: z.any() })) }), /input field "a\.\[\]\.b": .*"type"/],
  ])('is refused when defined for %s', (_, input, message) => {
    expect(() => byZod(input, true)).toThrow(message);
    expect(() => byZod(input)).not.toThrow();
  });

  test.each(['not', 'if', 'allOf', 'patternProperties', 'dependentRequired', 'prefixItems', 'nullable'])(
    'is refused for the keyword %s of a JSON Schema',
    (keyword) => {
      const schema = { type: 'object', properties: { a: { type: 'string', [keyword]: [{}, {}] } } };
      expect(() => byJson(schema, { strict: true })).toThrow(new RegExp(`input field "a": .*"${keyword}"`));
    },
  );

  test('look-around in patterns is told, not sent', () => {
    const { strictParameters } = byZod(
      z.object({ mail: z.string().regex(/^(?!a)b/), code: z.string().regex(/^b$/) }),
      true,
    );
    expect(strictParameters).toMatchObject({
      properties: { mail: { description: '(pattern: "^(?!a)b")' }, code: { pattern: '^b$' } },
    });
    expect(JSON.stringify(strictParameters)).not.toContain('"pattern":"^(?!');
  });

  it('takes nulls out that stand for a field left out, and no others', async () => {
    const tool = byZod(
      z.object({
        limit: z.number().default(10),
        from: z.object({ day: z.string().optional(), zone: z.string().nullable() }).optional(),
        note: z.string().nullish(),
        tags: z.array(z.object({ name: z.string().optional() })).optional(),
      }),
      true,
    );
    const given = { limit: null, from: { day: null, zone: null }, note: null, tags: [{ name: null }, { name: 'a' }] };
    expect(await checkArguments(tool, given)).toEqual({
      value: { limit: 10, from: { zone: null }, note: null, tags: [{}, { name: 'a' }] },
    });
    expect(await checkArguments(tool, { from: null })).toEqual({ value: { limit: 10 } });
    const plain = byZod(z.object({ limit: z.number().optional() }));
    expect(await checkArguments(plain, { limit: null })).toMatchObject({ isError: true });
  });

  it('tells alternatives apart before it takes a null out', () => {
    const kinds = (first: JsonObject): JsonObject => ({
      anyOf: [
        { type: 'object', properties: { kind: { const: 'a' }, v: first } },
        { type: 'object', properties: { kind: { const: 'b' }, v: { type: ['string', 'null'] } } },
      ],
    });
    const schema = { type: 'object', properties: { one: kinds({ type: 'string' }) } };
    expect(withoutForcedNulls(schema, { one: { kind: 'a', v: null } })).toEqual({ one: { kind: 'a' } });
    expect(withoutForcedNulls(schema, { one: { kind: 'b', v: null } })).toEqual({ one: { kind: 'b', v: null } });
  });

  test('property: arguments without nulls come through unchanged, whatever they are', () => {
    const tool = byZod(
      z.object({ a: z.string().optional(), b: z.array(z.object({ c: z.number().optional() })).optional() }),
      true,
    );
    const noNulls = fc.object({ values: [fc.string(), fc.integer(), fc.boolean()], maxDepth: 3 });
    fc.assert(
      fc.property(noNulls, (value) => {
        const args = JSON.parse(JSON.stringify(value)) as JsonObject;
        expect(withoutForcedNulls(tool.parameters, args)).toEqual(args);
      }),
    );
  });

  test('property: what fits a schema fits it still after its left-out fields were sent as null', async () => {
    const optional = <T extends z.ZodType>(schema: T, is: boolean): z.ZodType => (is ? schema.optional() : schema);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()), { maxLength: 5 }),
        async (fields) => {
          const shape = Object.fromEntries(
            fields.map(([isOptional, isNested], index) => [
              `f${index}`,
              optional(isNested ? z.object({ x: optional(z.number(), isOptional) }) : z.string(), isOptional),
            ]),
          );
          const wanted = Object.fromEntries(
            fields.flatMap(([isOptional, isNested, isGiven], index) =>
              isOptional && !isGiven ? [] : [[`f${index}`, isNested ? (isOptional ? {} : { x: 1 }) : 'text']],
            ),
          );
          const sent = Object.fromEntries(
            fields.map(([isOptional, isNested, isGiven], index) => [
              `f${index}`,
              isOptional && !isGiven ? null : isNested ? { x: isOptional ? null : 1 } : 'text',
            ]),
          );
          expect(await checkArguments(byZod(z.object(shape), true), sent)).toEqual({ value: wanted });
        },
      ),
    );
  });
});
