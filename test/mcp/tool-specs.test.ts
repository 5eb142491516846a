/** From what a server lists to what a run pins. */
import { describe, expect, test } from 'vitest';
import { mcpServer, type McpProcessOptions } from '../../src/index.js';
import { checkTogether, mcpToolSpecs } from '../../src/mcp/tool-specs.js';

const server = (more: Partial<McpProcessOptions> = {}) => mcpServer({ name: 'files', command: 'x', ...more });
const listed = (name: string, more: object = {}) => ({ name, inputSchema: { type: 'object' }, ...more });
const specOf = (tool: object, more: Partial<McpProcessOptions> = {}) => mcpToolSpecs(server(more), [tool]).tools[0];

describe('policy by annotations', () => {
  test.each<[unknown, object]>([
    [undefined, { effects: 'once', approval: 'always', concurrency: 'serial' }],
    [{}, { effects: 'once', approval: 'always', concurrency: 'serial' }],
    [{ readOnlyHint: true }, { effects: 'none', approval: 'never', concurrency: 'parallel' }],
    [
      { readOnlyHint: false, idempotentHint: true },
      { effects: 'idempotent', approval: 'always', concurrency: 'serial' },
    ],
    [
      { readOnlyHint: true, idempotentHint: true },
      { effects: 'none', approval: 'never' },
    ],
    [{ destructiveHint: false }, { effects: 'once', approval: 'always' }],
    [{ readOnlyHint: 'true' }, { effects: 'once', approval: 'always' }],
    ['read only', { effects: 'once', approval: 'always' }],
  ])('%j', (annotations, policy) => {
    expect(specOf(listed('read', { annotations }))).toMatchObject({ timeoutMs: 60_000, attempts: 3, ...policy });
  });

  test('the server’s policy goes before them, and a tool’s own before that, field by field', () => {
    const more = {
      policy: { approval: 'never', timeout: '2 minutes' },
      overrides: { write: { approval: () => true, approvalTimeout: '1 hour' } },
    } as const;
    const hints = { annotations: { idempotentHint: true } };
    expect(specOf(listed('read', hints), more)).toMatchObject({
      approval: 'never',
      effects: 'idempotent',
      timeoutMs: 120_000,
    });
    expect(specOf(listed('write', hints), more)).toMatchObject({
      approval: 'ask',
      approvalTimeoutMs: 3_600_000,
      effects: 'idempotent',
      timeoutMs: 120_000,
    });
    expect(specOf(listed('constructor'), more)).toMatchObject({ approval: 'never' });
  });
});

test('a description is there in any case, and bounded', () => {
  expect(specOf(listed('read', { description: 'Reads.' }))).toMatchObject({ description: 'Reads.' });
  expect(specOf(listed('read', { title: 'Read' }))).toMatchObject({ description: 'Read' });
  expect(specOf(listed('read'))).toMatchObject({ description: 'read' });
  expect(specOf(listed('read', { description: 'x'.repeat(100_000) }))?.description.length).toBeLessThan(8_100);
});

test('the schema is what a model needs: no $schema, properties in any case', () => {
  const inputSchema = { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' };
  expect(specOf(listed('read', { inputSchema }))?.parameters).toEqual({ type: 'object', properties: {} });
});

test('a schema that is too long is not even compiled', () => {
  const inputSchema = { type: 'object', properties: { a: { enum: ['x'.repeat(100_000)] } } };
  expect(mcpToolSpecs(server(), [listed('read', { inputSchema })])).toEqual({
    tools: [],
    problems: [expect.stringMatching(/"read" is left out: its schema has \d+ characters; 100000 are the most/)],
  });
});

describe('together', () => {
  const tools = (...names: string[]) =>
    mcpToolSpecs(
      server(),
      names.map((name) => listed(name)),
    ).tools;

  test('names must differ, from the agent’s own too', () => {
    expect(() => checkTogether('a', [{ name: 'read' }], tools('read', 'write'))).not.toThrow();
    expect(() => checkTogether('a', [{ name: 'files__read' }], tools('read'))).toThrow(
      /own tool files__read and "read" of/,
    );
    expect(() => checkTogether('a', [], tools('a b', 'a/b', 'a_b'))).not.toThrow();
  });

  test('a tool that the server has twice is taken once', () => {
    const { tools: taken, problems } = mcpToolSpecs(server(), [listed('same', { title: 'First' }), listed('same')]);
    expect(taken).toMatchObject([{ name: 'files__same', description: 'First' }]);
    expect(problems).toEqual([expect.stringContaining('has it twice')]);
  });

  test('more than a run can pin are refused, with what to do', () => {
    const long = Array.from({ length: 200 }, (_, index) => listed(`t${index}`, { description: 'x'.repeat(4_000) }));
    expect(() => checkTogether('a', [], mcpToolSpecs(server(), long).tools)).toThrow(
      /200 tools .* Choose with include/,
    );
  });
});
