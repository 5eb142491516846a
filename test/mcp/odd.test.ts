/** Servers that do what they should not: at the start of a run, in the middle of a call, in what they answer. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { agentTool, DefinitionError, defineAgent, defineTool, mcpServer, type McpServerOptions } from 'everlap';
import { call, calls, text, type ChatRequest, type Script } from 'everlap/testing';
import { createWorker } from 'everlap/worker';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { containing } from '../support/cases.js';
import { eventually, logged, startRig, type Rig } from '../support/rig.js';
import { gone, isAlive, oddServer, pidsOf } from './servers.js';

let rig: Rig | undefined;
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'everlap-mcp-'));
});
afterEach(async () => {
  await rig?.stop();
  rig = undefined;
  await rm(folder, { recursive: true, force: true });
});

async function runWith(servers: readonly McpServerOptions[], script: Script = [text('Done.')], tools = [pid]) {
  rig = await startRig({ agent: { mcp: servers.map(mcpServer), tools }, script });
  const run = await rig.start();
  const result = await run.result();
  const messages = await run.messages();
  return {
    run,
    result,
    results: messages.flatMap((message) => (message.role === 'tool' ? [message.text] : [])),
    // The built-in one that comes with every tool is not what these tests are about.
    names: namesIn(rig.model.requests[0]?.body),
  };
}

function namesIn(body?: ChatRequest): string[] {
  const tools = body?.tools?.map((tool) => tool.function?.name ?? '') ?? [];
  return tools.filter((name) => name !== 'read_result');
}

const pid = defineTool({
  name: 'odd__pid',
  description: 'An own tool with a name as of an MCP tool.',
  input: z.object({}),
  execute: () => 'mine',
});
const said = (part: string): boolean => logged.some(({ message }) => message.includes(part));

test('200 tools in pages: all are there, and the last can be called', async () => {
  const { names, results } = await runWith([oddServer('many')], [call('odd__tool_199', {}), text('Done.')]);
  expect(names).toHaveLength(201);
  expect(results).toEqual(['did tool_199 {}']);
});

test('tools that cannot be are left out, each with a sentence in the log; the others work', async () => {
  const server = oddServer('bad', { name: 'bad', include: undefined, exclude: ['not there'] });
  const { names, results } = await runWith([server], [call('bad__untyped', { a: 1 }), text('Done.')]);
  expect(names.sort()).toEqual(['bad__good', 'bad__odd_hints', 'bad__untyped', 'odd__pid']);
  expect(results[0]).toMatch(/do not fit the tool bad__untyped/);
  for (const name of ['no_schema', 'list', 'nonsense', 'nowhere', 'as_task']) {
    expect(said(`MCP server bad: its tool "${name}" is left out: `)).toBe(true);
  }
  expect(said('MCP server bad: its tool without a name is left out: ')).toBe(true);
  expect(said('MCP server bad has no tool not there, which its definition names')).toBe(true);
});

test('an own tool of the name of a server’s ends the run with a sentence', async () => {
  const { result } = await runWith([oddServer('plain')]);
  const sentence = 'the agent\'s own tool odd__pid and "pid" of the MCP server';
  expect(result).toMatchObject({ status: 'failed', reason: 'bad_request', error: containing(sentence) });
  expect(result.error).toContain('exclude');
});

test('two tools of one server whose names only differ in odd characters can both be called', async () => {
  rig = await startRig({
    agent: { mcp: [mcpServer(oddServer('collide'))] },
    script: [({ body }) => calls(namesIn(body).map((name) => ({ name, arguments: {} }))), text('Done.')],
  });
  const run = await rig.start();
  await run.result();
  const results = (await run.messages()).flatMap((message) => (message.role === 'tool' ? [message.text] : []));
  expect(results.sort()).toEqual(['did a.b {}', 'did a_b {}']);
});

test('include and exclude choose; what was left out collides with nothing', async () => {
  const some = oddServer('plain', { include: ['pid', 'hang', 'write'], exclude: ['pid'] });
  const { names } = await runWith([some, oddServer('collide', { name: 'other', exclude: ['a.b'] })]);
  expect(names).toEqual(['odd__pid', 'odd__hang', 'odd__write', 'other__a_b']);
});

test('a server that is not required and cannot be reached: the run starts without it', async () => {
  const servers = [
    oddServer('deaf', { name: 'deaf', startTimeout: '1 second', required: false }),
    oddServer('exit', { name: 'exits', required: false }),
    { name: 'absent', command: 'there-is-no-such-program', required: false },
    { name: 'nobody', url: 'http://127.0.0.1:1/mcp', required: false },
    oddServer('no_tools', { name: 'empty' }),
  ];
  const { result, names } = await runWith(servers);
  expect(result).toMatchObject({ status: 'completed' });
  expect(names).toEqual(['odd__pid']);
  expect(said('The MCP server deaf cannot be reached: it gave no answer within 1 seconds')).toBe(true);
  expect(
    said(
      'The MCP server exits cannot be reached: it ended while it started (exit code 3; its last words: There is no configuration file.)',
    ),
  ).toBe(true);
  expect(
    said(
      'The MCP server absent cannot be reached: the program there-is-no-such-program is not there on this worker (ENOENT); ',
    ),
  ).toBe(true);
  expect(said('The MCP server nobody cannot be reached: ')).toBe(true);
});

test('a required server that cannot be reached is tried again, in the open; the run can be cancelled meanwhile', async () => {
  rig = await startRig({ agent: { mcp: [mcpServer(oddServer('exit'))] }, script: [] });
  const run = await rig.start();
  await eventually(async () => {
    const [activity] = (await run.temporal.describe()).raw.pendingActivities ?? [];
    const failed = activity?.lastFailure?.message?.includes('The MCP server odd cannot be reached: it ended');
    return activity?.activityType?.name === 'listMcpTools' && failed;
  }, 'a failed attempt');
  await run.cancel();
  await expect(run.result()).resolves.toMatchObject({ status: 'cancelled' });
});

test('a required server whose program is not there ends the run at once, with one sentence', async () => {
  const { run, result } = await runWith([{ name: 'missing', command: 'there-is-no-such-program' }], []);
  expect(result).toMatchObject({
    status: 'failed',
    error:
      'The MCP server missing cannot be reached: the program there-is-no-such-program is not there on this worker (ENOENT); install it, or correct command',
  });
  const { events } = await run.temporal.fetchHistory();
  const attempts = events?.flatMap(({ activityTaskStartedEventAttributes: started }) => started?.attempt ?? []);
  // describeAgent, and listMcpTools once.
  expect(attempts).toEqual([1, 1]);
});

test('calls that go wrong: each is a result text, and the run goes on', async () => {
  const file = join(folder, 'died');
  const server = oddServer('chatty', {
    file,
    env: { ODD_TOKEN: 'a-private-token' },
    overrides: {
      hang: { timeout: '1 second', attempts: 1 },
      die: { effects: 'once' },
      write: { approval: 'never' },
      put: { approval: 'never' },
    },
  });
  const script = [
    call('odd__fail'),
    call('odd__refuse'),
    call('odd__die'),
    call('odd__die_first'),
    call('odd__progress'),
    call('odd__odd'),
    call('odd__huge'),
    call('odd__write', { n: 1.5 }),
    call('odd__write', { n: 2 }),
    call('odd__put'),
    call('odd__hang'),
    text('Done.'),
  ];
  const { result, results } = await runWith([server], script, []);
  expect(result).toMatchObject({ status: 'completed' });
  const [fail, refuse, die, dieFirst, progress, odd, huge, wrong, write, put, hang] = results;
  expect(fail).toBe('Error: It went wrong: [secret]');
  expect(refuse).toMatch(/^Error: .*No such thing\./);
  expect(die).toMatch(
    /^Outcome unknown: odd__die was started, and the MCP server odd was lost while it ran \(exit code 7; its last words: .*I am out of memory/s,
  );
  // It only reads: Temporal tries again, with a new server.
  expect(dieFirst).toBe('alive at last');
  expect(progress).toBe('whole');
  expect(odd).toContain('just a string');
  expect(huge?.length).toBeLessThan(21_000);
  expect(wrong).toMatch(/do not fit the tool odd__write.*\n✖ .*integer\n {2}→ at n/);
  expect(write).toBe('did write {"n":2}');
  expect(put).toBe('did put {}');
  expect(hang).toMatch(/^Error: it took longer than 1 seconds/);
  expect(said('MCP server odd: (on stdout, no MCP message) Welcome')).toBe(true);
  expect(JSON.stringify(logged.map(({ message }) => message))).not.toContain('a-private-token');
});

test('a server that ends neither with its stdin nor on a signal is ended with all that it has started', async () => {
  const file = join(folder, 'child');
  rig = await startRig({
    agent: { mcp: [mcpServer(oddServer('stubborn', { name: 'stubborn', file }))] },
    script: [text('Done.')],
    startWorker: false,
  });
  const worker = await rig.startWorker();
  expect(await (await rig.start()).result()).toMatchObject({ status: 'completed' });
  const pids = [...pidsOf('stubborn'), Number(await readFile(file, 'utf8'))];
  expect(pids.map(isAlive)).toEqual([true, true]);
  await worker.stop();
  for (const one of pids) await gone(one);
});

test('the default activity of a user’s own worker still gets what is no MCP tool; without one, the SDK’s own error', async () => {
  const agent = defineAgent({ name: 'a', instructions: '', model: 'gpt-5-mini', mcp: [mcpServer(oddServer('plain'))] });
  rig = await startRig({ agents: [agent], script: [], startWorker: false });
  const worker = await rig.startWorker({ worker: { activities: { default: async (n: number) => n + 1 } } });
  const options = { taskQueue: rig.taskQueue, startToCloseTimeout: '10 seconds', retry: { maximumAttempts: 1 } };
  expect(await rig.temporal.activity.execute('theirs', { ...options, id: `${rig.taskQueue}-1`, args: [1] })).toBe(2);
  await worker.stop();
  await rig.startWorker();
  await expect(
    rig.temporal.activity.execute('theirs', { ...options, id: `${rig.taskQueue}-2`, args: [1] }),
  ).rejects.toMatchObject({ cause: { message: containing('theirs is not registered on this Worker') } });
});

test('two servers of one name on a worker are refused when it starts', async () => {
  const agents = ['a', 'b'].map((name) =>
    defineAgent({ name, instructions: '', model: 'gpt-5-mini', mcp: [mcpServer(oddServer('plain'))] }),
  );
  await expect(createWorker({ agents })).rejects.toThrow(DefinitionError);
});

test('the servers of an agent that is only referred to by a tool are the worker’s too', async () => {
  const helper = defineAgent({
    name: 'helper',
    instructions: 'You help.',
    model: 'gpt-5-mini',
    mcp: [mcpServer(oddServer('plain', { name: 'hidden' }))],
  });
  rig = await startRig({
    agent: { tools: [agentTool(helper, { description: 'Helps.' })] },
    byTask: { 'Do it.': [call('helper', { task: 'Who are you?' }), text('Done.')] },
    script: [call('hidden__pid'), text('I am it.')],
  });
  expect(await (await rig.start()).result()).toMatchObject({ status: 'completed', output: 'Done.' });
  expect(JSON.stringify(rig.model.requests.map(({ messages }) => messages))).toContain('I am it.');
});
