/** A field that nobody knows is refused wherever definitions have fields: dropped, it would take a gate or a limit along. */
import {
  agentTool,
  askHuman,
  defineAgent,
  defineConfig,
  DefinitionError,
  defineTool,
  handoffTo,
  mcpServer,
} from 'everlap';
import {
  editFile,
  fetchUrl,
  fileTools,
  finishTool,
  listFiles,
  readFile,
  runCommand,
  searchFiles,
  writeFile,
} from 'everlap/tools';
import {
  aiSdk,
  EverlapPlugin,
  folderArtifacts,
  folderStorage,
  openaiChat,
  openaiResponses,
  s3Artifacts,
} from 'everlap/worker';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

/** As somebody calls them who has no types. */
type Untyped = (options: object) => unknown;
const tool: Untyped = (more) =>
  defineTool({ name: 'pay', description: 'Pays.', input: z.object({}), execute: () => 'x', ...more });
const clerk = { name: 'clerk', instructions: 'x', model: 'm' };
const agent: Untyped = (more) => defineAgent({ ...clerk, ...more });
const server: Untyped = (more) => mcpServer({ name: 'files', command: 'x', ...more });
const config: Untyped = (more) => defineConfig({ agents: [defineAgent(clerk)], ...more });
const price = { input: 1, output: 1 };

describe('naming what is defined and the field', () => {
  test.each<[string, () => unknown, string]>([
    ['defineTool', () => tool({ aproval: 'always' }), 'Tool pay has no field "aproval"; its fields are name, '],
    ['defineAgent', () => agent({ limts: { turns: 1 } }), 'Agent clerk has no field "limts"; its fields are name, '],
    ['model', () => agent({ model: { name: 'm', atempts: 1 } }), 'Agent clerk: model has no field "atempts"; '],
    ['context', () => agent({ context: { windw: 1000 } }), 'Agent clerk: context has no field "windw"; '],
    ['toolResult', () => agent({ toolResult: { maxchars: 500 } }), 'Agent clerk: toolResult has no field "maxchars"; '],
    [
      'laps',
      () => agent({ laps: { max: 2, until: { promise: 'x' }, maxfailed: 1 } }),
      'Agent clerk: laps has no field "maxfailed"; ',
    ],
    [
      'laps.until',
      () => agent({ laps: { max: 2, until: { promise: 'x', veriy: 'y' } } }),
      'Agent clerk: laps.until has no field "veriy"; its fields are promise, verify.',
    ],
    ['limits', () => agent({ limits: { turn: 5 } }), 'Agent clerk: limits has no field "turn"; its fields are turns, '],
    ['session', () => agent({ session: { idle: 5 } }), 'Agent clerk: session has no field "idle"; '],
    ['askHuman', () => askHuman({ timout: 5 } as never), 'Tool ask_human has no field "timout"; its fields are name, '],
    ['agentTool', () => agentTool(defineAgent(clerk), { limts: {} } as never), 'Tool clerk has no field "limts"; '],
    [
      'handoffTo',
      () => handoffTo(defineAgent(clerk), { descripton: 'x' } as never),
      'Tool handoff_to_clerk has no field "descripton"; its fields are name, description.',
    ],
    ['mcpServer', () => server({ requird: false }), 'MCP server files has no field "requird"; its fields are name, '],
    ['mcpServer, of the other kind', () => server({ headers: {} }), 'MCP server files has no field "headers"; '],
    [
      'mcpServer, of the other kind by URL',
      () => server({ command: undefined, url: 'https://mcp.test/', env: {} }),
      'MCP server files has no field "env"; ',
    ],
    [
      'an MCP policy',
      () => server({ policy: { aproval: 'always' } }),
      'MCP server files: policy has no field "aproval"; its fields are approval, ',
    ],
    [
      'an MCP override',
      () => server({ overrides: { read: { tmeout: 5 } } }),
      'MCP server files: overrides.read has no field "tmeout"; ',
    ],
    ['defineConfig', () => config({ taskqueue: 'x' }), 'The config has no field "taskqueue"; its fields are agents, '],
    [
      'a price',
      () => config({ prices: { m: { ...price, cachedinput: 0.1 } } }),
      'The config: the price of m has no field "cachedinput"; ',
    ],
    [
      'long rates',
      () => config({ prices: { m: { ...price, long: { ...price, over: 9, cached: 1 } } } }),
      'The config: the price of m, long, has no field "cached"; ',
    ],
    ['a name of every object', () => tool({ toString: () => 'x' }), 'Tool pay has no field "toString"; '],
  ])('%s', (_, define, words) => {
    expect(define).toThrow(DefinitionError);
    expect(define).toThrow(words);
  });

  test.each<[string, Untyped]>([
    ['list_files', fileTools],
    ['list_files', listFiles],
    ['read_file', readFile],
    ['write_file', writeFile],
    ['edit_file', editFile],
    ['search_files', searchFiles],
    ['run_command', runCommand],
    ['fetch_url', fetchUrl],
    ['finish', finishTool],
  ])('the built-in tool %s', (name, define) => {
    expect(() => define({ foldr: '/srv' })).toThrow(DefinitionError);
    expect(() => define({ foldr: '/srv' })).toThrow(`Tool ${name} has no field "foldr"; its fields are `);
  });
});

test.each<[string, Untyped, string]>([
  ['openaiChat', openaiChat, 'apiKey, apiKeyEnv, baseUrl, headers, organization, fetch, traits.'],
  ['openaiResponses', openaiResponses, 'apiKey, apiKeyEnv, baseUrl, headers, organization, fetch, traits.'],
  [
    'aiSdk',
    (options) => aiSdk(() => Promise.reject(new Error('unused')) as never, options),
    'providerOptions, headers.',
  ],
  ['folderArtifacts', (options) => folderArtifacts('/srv', options), 'keepFor.'],
  [
    's3Artifacts',
    (options) => s3Artifacts({ client: { send: () => Promise.resolve() }, bucket: 'b', ...options }),
    'client, bucket, prefix.',
  ],
  ['folderStorage', (options) => folderStorage({ folder: '/srv', ...options }), 'folder, threshold.'],
])('what a worker is made with: %s', (name, make, fields) => {
  expect(() => make({})).not.toThrow();
  // As another library spells it.
  expect(() => make({ baseURL: 'http://127.0.0.1:8000/v1' })).toThrow(
    `${name} has no field "baseURL"; its fields are ${fields}`,
  );
});

test('a trait that there is not', () => {
  const options = { traits: { alternates: true } } as object;
  expect(() => openaiChat(options)).toThrow(
    'openaiChat: traits has no field "alternates"; its fields are toolCallId, ',
  );
  expect(() => openaiResponses(options)).toThrow('openaiResponses: traits has no field "alternates"; its fields are ');
  expect(() => openaiChat({ traits: { alternate: true } })).not.toThrow();
});

test('options that are no object are refused with a sentence too', () => {
  for (const define of [askHuman, fetchUrl, finishTool, runCommand, readFile] as ((options: unknown) => unknown)[]) {
    expect(() => define(null)).toThrow(/^Tool \w+ must be an object; its fields are /);
  }
  expect(() => agentTool(defineAgent(clerk), undefined as never)).toThrow(/^Tool clerk must be an object; /);
  expect(() => mcpServer(undefined as never)).toThrow(/^mcpServer needs an object/);
});

test('a field that is undefined is one that is not there', () => {
  expect(() => tool({ aproval: undefined, approval: undefined })).not.toThrow();
  expect(() => server({ url: undefined })).not.toThrow();
});

test('a worker is as strict as a config', () => {
  const agents = [defineAgent(clerk)];
  const plugin = (options: object): EverlapPlugin => new EverlapPlugin({ agents, ...options });
  expect(() => plugin({ workspcaes: '/srv' })).toThrow(/^The config has no field "workspcaes"/);
  expect(() => plugin({ prices: { m: { input: 'much', output: 1 } } })).toThrow(/the price of m, input, is "much"/);
  expect(() => plugin({ agents: [] })).toThrow(/needs agents/);
});
