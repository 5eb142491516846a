/** The link to one server by itself: when it connects anew, and what it says of calls that fail. */
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { mcpServer, ToolError, type McpServerOptions } from '../../src/index.js';
import { Lost, ServerLink, Unreachable } from '../../src/mcp/server-link.js';
import { eventually } from '../support/rig.js';
import { gone, isAlive, oddServer } from './servers.js';

let link: ServerLink | undefined;
let server: Server | undefined;
let log: string[];
let pids: number[];

afterEach(async () => {
  vi.useRealTimers();
  await link?.close();
  server?.closeAllConnections();
  server?.close();
  link = server = undefined;
});

function linkTo(options: McpServerOptions): ServerLink {
  log = [];
  pids = [];
  link = new ServerLink(mcpServer(options), (_, message, meta) => {
    log.push(message);
    if (typeof meta?.['pid'] === 'number') pids.push(meta['pid']);
  });
  return link;
}

function call(name: string, signal = new AbortController().signal): Promise<unknown> {
  const onProgress = (): void => undefined;
  return (link as ServerLink).callTool(name, {}, { signal, timeoutMs: 60_000, onProgress });
}

const text = (words: string) => ({ content: [{ type: 'text', text: words }] });

test('one process for all calls, also for those that come while it starts', async () => {
  linkTo(oddServer('plain'));
  const answers = await Promise.all([call('pid'), call('pid'), call('pid')]);
  expect(pids).toHaveLength(1);
  expect(answers).toEqual([text(String(pids[0])), text(String(pids[0])), text(String(pids[0]))]);
});

test('a server that died starts anew with the next call; the call that it died of is lost, not failed', async () => {
  linkTo(oddServer('plain'));
  const others = [call('wait'), call('die')].map((one) => one.catch((error: unknown) => error));
  const [waiting, die] = await Promise.all(others);
  expect(waiting).toBeInstanceOf(Lost);
  expect(die).toBeInstanceOf(Lost);
  expect((die as Error).message).toMatch(/^the MCP server odd was lost while it ran \(exit code 7; its last words: /);
  await call('pid');
  expect(pids).toHaveLength(2);
});

test('an error of the server is for the model', async () => {
  linkTo(oddServer('plain'));
  await expect(call('refuse')).rejects.toThrow(ToolError);
  await expect(call('refuse')).rejects.toThrow(/No such thing/);
});

test('a server that cannot be reached is not tried again at once', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  linkTo({ name: 'nobody', url: 'http://127.0.0.1:1/mcp' });
  await expect(call('pid')).rejects.toThrow(Unreachable);
  await expect(call('pid')).rejects.toThrow(/The MCP server nobody cannot be reached: /);
  expect(log).toHaveLength(1);
  vi.advanceTimersByTime(250);
  await expect(call('pid')).rejects.toThrow(Unreachable);
  vi.advanceTimersByTime(250);
  await expect(call('pid')).rejects.toThrow(Unreachable);
  expect(log).toHaveLength(2);
});

test('a caller that gives up while the server starts does not end it for the others', async () => {
  linkTo(oddServer('plain'));
  const stop = new AbortController();
  const given = call('pid', stop.signal);
  const kept = call('pid');
  stop.abort(new Error('enough'));
  await expect(given).rejects.toThrow('enough');
  expect(await kept).toEqual(text(String(pids[0])));
});

test('a server that hangs is ended after a call of it was given up, so that the next call finds one that answers', async () => {
  linkTo(oddServer('plain'));
  await call('pid');
  const [first = Number.NaN] = pids;
  const stop = new AbortController();
  const hanging = call('hang', stop.signal);
  await eventually(async () => log.some((line) => line.includes('I hang.')));
  stop.abort(new Error('its time is up'));
  await expect(hanging).rejects.toThrow('its time is up');
  // Ends by a ping without an answer.
  await gone(first);
  expect(await call('pid')).toEqual(text(String(pids[1])));
});

test('closed, it connects no more, and its process is gone', async () => {
  linkTo(oddServer('plain'));
  await call('pid');
  await link?.close();
  expect(pids.map(isAlive)).toEqual([false]);
  await expect(call('pid')).rejects.toThrow(/its worker shuts down/);
  link?.reopen();
  await call('pid');
  expect(pids).toHaveLength(2);
});

test.each([
  [401, Unreachable, 'nothing was done'],
  [500, Unreachable, 'nothing was done'],
])('a server that refuses with %i and quotes the key: %o, without the key', async (status, kind) => {
  server = createServer((request, response) => {
    response.writeHead(status).end(`No: ${request.headers.authorization} is unknown`);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  linkTo({ name: 'web', url: `http://127.0.0.1:${port}/mcp`, auth: async () => 'a-private-token' });
  const failure: unknown = await call('pid').catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(kind);
  expect((failure as Error).message).toMatch(/No: \[secret\] is unknown/);
  expect(log.join()).not.toContain('private');
});
