/** What a definition of an MCP server may say, and what its tools are called. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defineAgent, defineConfig, DefinitionError, mcpServer, type McpServerOptions } from '../../src/index.js';
import { checkSdk } from '../../src/mcp/sdk.js';
import { mcpToolName, nameCounts } from '../../src/mcp/tool-name.js';

const files: McpServerOptions = { name: 'files', command: 'files-server' };

describe('mcpServer', () => {
  test.each<[string, unknown, RegExp]>([
    ['no name', { ...files, name: '' }, /a name must be/],
    ['a name with a double underscore', { ...files, name: 'my__files' }, /no "__"/],
    ['a name with an underscore at its end', { ...files, name: 'files_' }, /no "_" at its ends/],
    ['a long name', { ...files, name: 'f'.repeat(33) }, /at most 32/],
    ['neither command nor url', { name: 'files' }, /files: it needs a command .* or a url/],
    ['both', { ...files, url: 'https://mcp.test/mcp' }, /and not both/],
    ['no program', { name: 'files', command: ' ' }, /files: command/],
    ['another protocol', { name: 'files', url: 'file:///mcp' }, /files: url must begin with http/],
    ['include as a text', { ...files, include: 'read' }, /files: include must be a list/],
    ['a policy that there is not', { ...files, policy: { effects: 'some' } }, /files: policy\.effects is "some"/],
    [
      'an override that is none',
      { ...files, overrides: { read: { approval: 'ask' } } },
      /overrides\.read\.approval is "ask"; .* or a function/,
    ],
    ['no attempts', { ...files, overrides: { read: { attempts: 0 } } }, /overrides\.read\.attempts is 0/],
    [
      'a timeout that is none',
      { ...files, overrides: { read: { timeout: 'soon' } } },
      /overrides\.read\.timeout is "soon"/,
    ],
    ['a start timeout that no run waits for', { ...files, startTimeout: '5 minutes' }, /may be 4 minutes at most/],
    [
      'a password in the URL',
      { name: 'web', url: 'https://me:private@mcp.test/' },
      /^(?!.*private).*web: url must not have a name or password/,
    ],
    ['a start timeout that is none', { ...files, startTimeout: -1 }, /files: startTimeout is -1/],
  ])('refuses %s', (_, options, message) => {
    const define = () => mcpServer(options as McpServerOptions);
    expect(define).toThrow(message);
    expect(define).toThrow(DefinitionError);
  });

  test('a refusal tells no environment, header or URL: they may hold a key', () => {
    const secret = { env: { KEY: 'private' }, headers: { key: 'private' }, url: 'ftp://private@mcp.test' };
    expect(() => mcpServer({ name: 'files', ...(secret as object) } as never)).toThrow(/^(?!.*private)/);
    const bad = { name: 'a', instructions: '', model: 'gpt-5-mini', mcp: [{ ...files, ...secret }] };
    expect(() => defineAgent(bad as never)).toThrow(/^Agent a: mcp must be a list of what mcpServer\(\) makes\.$/);
  });

  test('one server twice in an agent, or two of one name in a config, are refused', () => {
    const one = mcpServer(files);
    const agent = (name: string, mcp = [one]) => defineAgent({ name, instructions: '', model: 'gpt-5-mini', mcp });
    expect(() => agent('a', [one, one])).toThrow(/one server twice/);
    expect(() => agent('a', [one, mcpServer(files)])).toThrow(/two different MCP servers of the name files/);
    expect(() => defineConfig({ agents: [agent('a'), agent('b', [mcpServer(files)])] })).toThrow(/of the name files/);
    expect(() => defineConfig({ agents: [agent('a'), agent('b')] })).not.toThrow();
  });
});

test('without the SDK a worker with MCP servers says what to install', () => {
  const missing = () => {
    throw new Error('Cannot find module');
  };
  expect(() => checkSdk(missing)).toThrow(/need the package @modelcontextprotocol\/sdk.*npm install/);
  expect(() => checkSdk()).not.toThrow();
});

describe('mcpToolName', () => {
  test.each([
    ['files', 'read', 'files__read'],
    ['files', 'read.all/now', 'files__read_all_now'],
    ['files', 'größe', 'files__gr__e'],
  ])('%s, %s: %s', (server, tool, name) => expect(mcpToolName(server, tool)).toBe(name));

  test('names that only other characters tell apart stay two; a plain one stays as it is', () => {
    const names = ['a.b', 'a_b', 'a b', 'c.d'];
    const counts = nameCounts(names);
    const made = names.map((name) => mcpToolName('files', name, counts));
    expect(made).toEqual([
      expect.stringMatching(/^files__a_b_[0-9a-z]{8}$/),
      'files__a_b',
      expect.stringMatching(/^files__a_b_[0-9a-z]{8}$/),
      'files__c_d',
    ]);
    expect(new Set(made).size).toBe(4);
  });

  test('property: a name that every provider takes; two long names stay two', () => {
    const tool = fc.oneof(fc.string({ minLength: 1 }), fc.string({ minLength: 60, maxLength: 200 }));
    fc.assert(
      fc.property(tool, tool, (a, b) => {
        expect(mcpToolName('files', a)).toMatch(/^files__[a-zA-Z0-9_-]{1,57}$/);
        if (a !== b && a.length > 60 && b.length > 60)
          expect(mcpToolName('files', a)).not.toBe(mcpToolName('files', b));
      }),
    );
  });
});
