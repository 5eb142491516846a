/** Runs whose tools are those of the public MCP server for tests of clients, as a process and over HTTP. */
import { inspect } from 'node:util';
import { defineAgent, mcpServer, type AgentOptions, type Message } from 'everlap';
import { call, calls, text } from 'everlap/testing';
import type { RunHandle } from 'everlap/client';
import { afterEach, expect, test } from 'vitest';
import { completed, eventsOf } from '../support/history.js';
import { readableHistory } from '../support/readable-history.js';
import { eventually, logged, startRig, type Rig, type RigOptions } from '../support/rig.js';
import { everythingServer, gone, isAlive, pidsOf, startEverythingHttp, type HttpServer } from './servers.js';

let rig: Rig;
let http: HttpServer | undefined;
afterEach(async () => {
  await rig.stop();
  await http?.kill();
  http = undefined;
});

async function runWith(options: RigOptions & { agent: Partial<AgentOptions> }) {
  rig = await startRig(options);
  const run = await rig.start();
  const result = await run.result();
  return { run, result, results: resultsOf(await run.messages()) };
}

function resultsOf(messages: readonly Message[]): string[] {
  return messages.flatMap((message) => (message.role === 'tool' ? [message.text] : []));
}

const waiting = (run: RunHandle) =>
  eventually(async () => {
    const [pending] = (await run.state()).pending;
    return pending;
  }, 'a pending call');

/** The call has arrived at its server: it shows progress. */
const progressOf = (run: RunHandle) =>
  eventually(async () => {
    const { raw } = await run.temporal.describe();
    const [activity] = raw.pendingActivities ?? [];
    const isTool = activity?.activityType?.name?.startsWith('tool.') === true;
    return isTool && Buffer.from(activity.heartbeatDetails?.payloads?.[0]?.data ?? []).includes(' of 6000');
  }, 'progress');

test('its tools are listed by an activity, named, pinned, called as activities; their results are text', async () => {
  const { run, result, results } = await runWith({
    agent: { mcp: [mcpServer(everythingServer())] },
    script: [
      calls([
        { name: 'everything__echo', arguments: { message: 'hello' } },
        { name: 'everything__get-sum', arguments: { a: 2, b: 40 } },
        { name: 'everything__get-structured-content', arguments: { location: 'Chicago' } },
        { name: 'everything__get-tiny-image', arguments: {} },
        { name: 'everything__get-resource-reference', arguments: { resourceType: 'Text', resourceId: 1 } },
        { name: 'everything__get-resource-links', arguments: { count: 1 } },
        { name: 'everything__echo', arguments: { message: 1 } },
        { name: 'everything__gone', arguments: {} },
      ]),
      text('Done.'),
    ],
  });
  expect(result).toMatchObject({ status: 'completed', toolCalls: 7 });
  const [echo, sum, weather, image, resource, link, wrong, unknown] = results;
  expect(echo).toBe('Echo: hello');
  expect(sum).toMatch(/42/);
  expect(JSON.parse(weather ?? '')).toEqual({ temperature: 36, conditions: 'Light rain / drizzle', humidity: 82 });
  expect(image).toMatch(/^Here's the image you requested:\n\[image: image\/png, [\d,]+ bytes\]\nThe image above/);
  expect(resource).toMatch(/\n\[resource: demo:.*, text\/plain\]\nResource 1: /);
  expect(link).toMatch(/\n\[resource link: Blob Resource 1, demo:.*\]$/);
  expect(wrong).toMatch(/^Error: the arguments do not fit the tool everything__echo.*\n✖ .*string\n {2}→ at message$/);
  expect(unknown).toMatch(/there is no tool named "everything__gone"/);

  const tools = (rig.model.requests[0]?.body['tools'] ?? []) as { function: { name: string; parameters: object } }[];
  const offered = tools.find((tool) => tool.function.name === 'everything__echo');
  expect(offered?.function.parameters).toMatchObject({ type: 'object', required: ['message'] });
  expect(tools.map((tool) => tool.function.name)).not.toContain('everything__simulate-research-query');
  const events = await eventsOf(rig.temporal, run.id);
  expect(completed(events, 'listMcpTools')).toBe(1);
  expect(completed(events, 'tool.everything__echo')).toBe(2);
  expect(logged.some(({ message }) => message.includes('Starting default (STDIO) server'))).toBe(true);
});

test('keys given to a server are in no history, result or log, though it tells them', async () => {
  const { run, results } = await runWith({
    agent: {
      mcp: [
        mcpServer(
          everythingServer({
            name: 'keys',
            env: async () => ({ API_TOKEN: 'very-private-value', GREETING: 'seen by all' }),
          }),
        ),
      ],
    },
    script: [call('keys__get-env'), text('Done.')],
  });
  const seen = JSON.parse(results[0] ?? '') as Record<string, string>;
  expect(seen).toMatchObject({ API_TOKEN: '[secret]', GREETING: 'seen by all' });
  expect(seen).not.toHaveProperty('TEMPORAL_ADDRESS');
  const history = await readableHistory(run);
  expect(history).toContain('seen by all');
  expect(history).not.toContain('very-private-value');
  expect(JSON.stringify(rig.model.requests)).not.toContain('very-private-value');
  expect(inspect(logged, { depth: 6, maxArrayLength: null })).not.toContain('very-private-value');
});

test('a tool that is not read-only waits for approval; its arguments are checked before; overrides go before hints', async () => {
  const server = everythingServer({
    overrides: {
      echo: { approval: ({ message }) => message === 'secret plan', effects: 'once' },
      'toggle-subscriber-updates': { approval: 'never', timeout: '10 seconds' },
    },
  });
  rig = await startRig({
    agent: { mcp: [mcpServer(server)] },
    script: [
      calls([
        { name: 'everything__toggle-simulated-logging', arguments: {}, id: 'toggle' },
        { name: 'everything__echo', arguments: { message: 'hello' } },
        { name: 'everything__echo', arguments: { message: false } },
        { name: 'everything__toggle-subscriber-updates', arguments: {} },
      ]),
      call('everything__echo', { message: 'secret plan' }, { id: 'plan' }),
      text('Done.'),
    ],
  });
  const run = await rig.start();
  expect(await waiting(run)).toMatchObject({ callId: 'toggle', tool: 'everything__toggle-simulated-logging' });
  await run.approve('toggle');
  expect(
    await eventually(async () => (await run.state()).pending.find(({ callId }) => callId === 'plan')),
  ).toBeTruthy();
  // A person's arguments are checked by the tool's schema as the model's are.
  await expect(run.approve({ callId: 'plan', args: { message: 1 } })).rejects.toThrow(
    /do not fit the tool everything__echo/,
  );
  await run.deny({ callId: 'plan', reason: 'too secret' });
  expect(await run.result()).toMatchObject({ status: 'completed' });
  const results = resultsOf(await run.messages());
  expect(results[0]).toMatch(/^Started simulated/);
  expect(results[1]).toBe('Echo: hello');
  expect(results[2]).toMatch(/do not fit/);
  expect(results[3]).toMatch(/Started simulated/);
  expect(results[4]).toMatch(/Denied by a person.*too secret/);
});

test('another worker goes on with what the run has pinned: it listed nothing, and asks the run for the tool', async () => {
  rig = await startRig({
    agent: { mcp: [mcpServer(everythingServer())] },
    script: [call('everything__toggle-simulated-logging', {}, { id: 'toggle' }), text('Done.')],
    startWorker: false,
  });
  const first = await rig.startWorker();
  const run = await rig.start();
  await waiting(run);
  await first.stop();
  await rig.startWorker();
  await run.approve({ callId: 'toggle', args: { loud: true } });
  expect(await run.result()).toMatchObject({ status: 'completed' });
  expect(resultsOf(await run.messages())[0]).toMatch(/^Started simulated/);
  const events = await eventsOf(rig.temporal, run.id);
  expect(completed(events, 'listMcpTools')).toBe(1);
  // The call's, and that of the changed arguments, by the worker that has listed nothing.
  expect(completed(events, 'checkCall')).toBe(2);
});

test('the server is killed while a tool runs: a result text, and the next call finds it again', async () => {
  rig = await startRig({
    agent: {
      mcp: [
        mcpServer(
          everythingServer({
            name: 'mortal',
            overrides: { 'trigger-long-running-operation': { effects: 'once' } },
          }),
        ),
      ],
    },
    script: [
      call('mortal__trigger-long-running-operation', { duration: 600, steps: 6000 }),
      call('mortal__echo', { message: 'again' }),
      text('Done.'),
    ],
  });
  const run = await rig.start();
  await progressOf(run);
  const pid = pidsOf('mortal').at(-1) ?? Number.NaN;
  expect(pid).toBeGreaterThan(1);
  process.kill(pid, 'SIGKILL');
  expect(await run.result()).toMatchObject({ status: 'completed' });
  const [lost, again] = resultsOf(await run.messages());
  expect(lost).toMatch(/^Outcome unknown: .* the MCP server mortal was lost while it ran \(signal SIGKILL/);
  expect(again).toBe('Echo: again');
  expect(pidsOf('mortal').at(-1)).not.toBe(pid);
});

test('a worker that shuts down leaves no process behind, and starts none before a run needs it', async () => {
  rig = await startRig({
    agents: [
      defineAgent({
        name: 'tester',
        instructions: 'Test.',
        model: 'gpt-5-mini',
        mcp: [mcpServer(everythingServer({ name: 'tidy' })), mcpServer(everythingServer({ name: 'other' }))],
      }),
    ],
    script: [text('Done.')],
    startWorker: false,
  });
  const worker = await rig.startWorker();
  expect(pidsOf('tidy')).toEqual([]);
  const run = await rig.start();
  expect(await run.result()).toMatchObject({ status: 'completed' });
  const pids = [...pidsOf('tidy'), ...pidsOf('other')];
  expect(pids.map(isAlive)).toEqual([true, true]);
  await worker.stop();
  for (const pid of pids) await gone(pid);
});

test('streamable HTTP: a session that the server has forgotten is made anew, a dead server is a result text', async () => {
  http = await startEverythingHttp();
  const seen: string[] = [];
  const { url, port } = http;
  const server = mcpServer({
    name: 'web',
    url,
    headers: () => ({ 'x-asked': String(seen.push('asked')) }),
    auth: 'a-private-token',
    overrides: { echo: { attempts: 1 } },
  });
  let step = 0;
  rig = await startRig({
    agent: { mcp: [server] },
    script: async () => {
      step += 1;
      if (step === 2) {
        await http?.kill();
        http = await startEverythingHttp(port);
      }
      if (step === 3) await http?.kill();
      return step <= 3 ? call('web__echo', { message: `number ${step}` }) : text('Done.');
    },
  });
  const run = await rig.start();
  expect(await run.result()).toMatchObject({ status: 'completed' });
  const results = resultsOf(await run.messages());
  expect(results.slice(0, 2)).toEqual(['Echo: number 1', 'Echo: number 2']);
  expect(results[2]).toMatch(/^Error: .*The MCP server web cannot be reached: .*ECONNREFUSED/);
  expect(seen.length).toBeGreaterThan(3);
  expect(inspect(logged, { depth: 6, maxArrayLength: null })).not.toContain('a-private-token');
});

test('streamable HTTP: killed while a tool runs, a `once` tool is told as unknown', async () => {
  http = await startEverythingHttp();
  rig = await startRig({
    agent: {
      mcp: [
        mcpServer({
          name: 'web',
          url: http.url,
          overrides: { 'trigger-long-running-operation': { effects: 'once' } },
        }),
      ],
    },
    script: [call('web__trigger-long-running-operation', { duration: 600, steps: 6000 }), text('Done.')],
  });
  const run = await rig.start();
  await progressOf(run);
  await http.kill();
  expect(await run.result()).toMatchObject({ status: 'completed' });
  expect(resultsOf(await run.messages())[0]).toMatch(/^Outcome unknown: .*the MCP server web was lost while it ran/);
});
