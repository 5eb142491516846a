/** The link to one server by itself: when it connects anew, and what it says of calls that fail. */
import { createServer, type RequestListener, type Server } from 'node:http';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { JsonObject } from '../../src/conversation/json.js';
import { mcpServer, ToolError, type McpServerOptions } from '../../src/index.js';
import { boundedBody } from '../../src/mcp/bounded-body.js';
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

describe('a program that cannot be started', () => {
  const command = 'there-is-no-such-program';
  test.each<[string, Partial<McpServerOptions>, string]>([
    ['is not there', { command }, `the program ${command} is not there on this worker (ENOENT); install it`],
    ['is a folder', { command: tmpdir() }, `the program ${tmpdir()} may not be used by this worker (EACCES); install`],
    [
      'has no folder',
      { cwd: '/nowhere/at-all' },
      'the folder /nowhere/at-all (cwd) is not there on this worker (ENOENT); ',
    ],
    [
      'is a path through a file',
      { command: `${process.execPath}/x` },
      `/x is not there on this worker (ENOTDIR); install`,
    ],
    ['has a file as its folder', { cwd: process.execPath }, `the folder ${process.execPath} (cwd) is not there on`],
  ])('%s: told once, and no reason to try again', async (_, more, words) => {
    linkTo({ ...oddServer('plain'), ...more } as McpServerOptions);
    const failure: unknown = await call('pid').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Unreachable);
    expect(failure).toMatchObject({ isFinal: true });
    const { message } = failure as Unreachable;
    expect(message).toContain('The MCP server odd cannot be reached: the ');
    expect(message).toContain(words);
    expect(message).not.toMatch(/cause|spawn/);
    expect(log).toEqual([message]);
  });

  test('but one that ends, or nobody at a port, may be there later', async () => {
    linkTo(oddServer('exit'));
    await expect(call('pid')).rejects.toMatchObject({ isFinal: false });
    linkTo({ name: 'nobody', url: 'http://127.0.0.1:1/mcp' });
    await expect(call('pid')).rejects.toMatchObject({ isFinal: false });
  });

  test('when it is there, the next run finds it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'everlap-mcp-'));
    const cwd = join(folder, 'later');
    linkTo(oddServer('plain', { cwd }));
    await expect(call('pid')).rejects.toMatchObject({ isFinal: true });
    await mkdir(cwd);
    const answer = await call('pid');
    expect(answer).toEqual(text(String(pids[0])));
    await link?.close();
    await rm(folder, { recursive: true });
  });
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

test('a list without end is given up when its time is up', async () => {
  let pages = 0;
  const url = await serve((_, response) => {
    pages += 1;
    response.writeHead(200, { 'content-type': 'application/json' });
    // Slowly, or a hundred pages would be the end of it.
    setTimeout(
      () => response.end(`{"jsonrpc":"2.0","id":${pages},"result":{"tools":[],"nextCursor":"${pages}"}}`),
      100,
    );
    return undefined;
  });
  linkTo({ name: 'web', url, startTimeout: '0.5 seconds' });
  const failure: unknown = await link?.listTools(new AbortController().signal).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(Unreachable);
  expect((failure as Error).message).toMatch(/did not list its tools: .*timed out/);
  expect(pages).toBeLessThan(100);
});

describe('what its definition gives', () => {
  const never = () => new Promise<never>(() => undefined);
  const fails = () => Promise.reject(new Error('the vault is sealed'));
  const env = (given: unknown) => oddServer('plain', { env: given as never, startTimeout: '0.3 seconds' });
  const web = (more: object) => ({ name: 'web', url: 'http://127.0.0.1:1/mcp', startTimeout: '0.3 seconds', ...more });
  test.each<[string, McpServerOptions, string]>([
    ['env never', env(never), 'its function env gave nothing within 0.3 seconds'],
    ['env fails', env(fails), 'its function env failed (cause: the vault is sealed)'],
    [
      'env gives no object',
      env(() => 'PATH=private'),
      'its function env gave something that is not an object of texts',
    ],
    ['env is no object of texts', env({ PORT: 8080 }), 'its env is something that is not an object of texts'],
    ['headers never', web({ headers: never }), 'its function headers gave nothing within 0.3 seconds'],
    ['headers fails', web({ headers: fails }), 'its function headers failed (cause: the vault is sealed)'],
    ['auth never', web({ auth: never }), 'its function auth gave nothing within 0.3 seconds'],
    ['auth gives nothing', web({ auth: () => undefined }), 'its function auth gave something that is not a text'],
  ])('%s', async (_, options, sentence) => {
    linkTo(options);
    const failure: unknown = await call('pid').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Unreachable);
    expect((failure as Error).message).toContain(`The MCP server ${options.name} cannot be reached: `);
    expect((failure as Error).message).toContain(sentence);
    expect(log.join()).not.toMatch(/private|8080/);
    expect(pids).toEqual([]);
  });

  test('a function that hangs in a later call: nothing was sent, and that is what the call says', async () => {
    let hangs = false;
    const seen: string[] = [];
    const url = await serve((method, response) => {
      seen.push(method);
      response.writeHead(200, { 'content-type': 'application/json' });
      return '{"content":[]}';
    });
    const headers = () => (hangs ? never() : { 'x-key': 'a-private-token' });
    linkTo({ name: 'web', url, headers, startTimeout: '0.5 seconds' });
    expect(await call('do')).toEqual({ content: [] });
    hangs = true;
    const failure: unknown = await call('do').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Unreachable);
    expect((failure as Error).message).toContain('its function headers gave nothing within 0.5 seconds');
    expect(seen.filter((method) => method === 'tools/call')).toHaveLength(1);
  });
});

describe('messages that are too long', () => {
  test('of a program: the connection ends, and the next call makes a new one', async () => {
    linkTo(oddServer('plain'));
    const failure: unknown = await call('too_long').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Lost);
    expect((failure as Error).message).toMatch(/it sent a message of more than 67108864 characters/);
    expect(await call('pid')).toEqual(text(String(pids[1])));
  });

  test.each(['application/json', 'text/event-stream'])('over HTTP, as %s: no more of it is read', async (type) => {
    let sent = 0;
    const megabyte = Buffer.alloc(1_000_000, 'x');
    const url = await serve((_, response) => {
      response.writeHead(200, { 'content-type': type });
      response.write(type === 'application/json' ? '{"content":"' : 'data: ');
      const more = (): void => {
        for (let room = true; room && !response.destroyed; sent += 1) room = response.write(megabyte);
      };
      response.on('drain', more);
      more();
      return undefined;
    });
    linkTo({ name: 'web', url });
    const failure: unknown = await call('do').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Lost);
    expect((failure as Error).message).toMatch(/it sent a message of more than 67108864 bytes/);
    expect(sent).toBeLessThan(200);
  });

  test('many short ones in one stream are not', async () => {
    const events = `: a comment\r\n\r\n${'data: {"jsonrpc":"2.0","method":"notifications/message"}\n\n'.repeat(20)}`;
    const body = new Response(events, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } });
    expect(await boundedBody(body, 100, never).text()).toBe(events);
    const whole = new Response(events, { headers: { 'content-type': 'text/plain' }, status: 400 });
    await expect(boundedBody(whole, 100, () => undefined).text()).rejects.toThrow('more than 100 bytes');
  });
});

test('secrets are taken out before a text is cut, whatever it was that quoted them', async () => {
  const token = 'a-very-private-token-of-some-length';
  linkTo({ ...oddServer('plain', { env: { ODD_TOKEN: token } }), args: ['test/mcp/odd-server.js', 'plain'] });
  const said: string[] = [];
  for (const name of ['long_error', 'die_loudly']) {
    said.push(String(await call(name).catch((error: unknown) => error)));
  }
  expect(said[0]).toContain('[secret]');
  const all = said.join() + log.join();
  for (const part of ['a-very', 'private', 'some-length']) expect(all.includes(part)).toBe(false);
});

test.each<[string, McpServerOptions]>([
  ['a key in the URL', { name: 'web', url: 'http://127.0.0.1:1/mcp?api_key=pass+word1&page=aaaaaaaa' }],
  ['an argument', { name: 'files', command: 'there-is-none', args: ['--api-key=pass word1', '--page=aaaaaaaa'] }],
  ['an argument of its own', { name: 'files', command: 'there-is-none', args: ['--token', 'pass word1', 'aaaaaaaa'] }],
])('%s is a secret', async (_, options) => {
  linkTo(options);
  await call('pid').catch(() => undefined);
  expect(link?.hide('pass word1, aaaaaaaa')).toBe('[secret], aaaaaaaa');
});

/** A server that answers calls as `play` says: with the JSON of a result, or (undefined) by itself. */
async function serve(play: (method: string, response: Parameters<RequestListener>[1]) => string | undefined) {
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (data: Buffer) => (body += data.toString()));
    request.on('end', () => {
      if (request.method !== 'POST') return response.writeHead(405).end();
      const { id, method, params } = JSON.parse(body) as { id?: number; method: string; params: JsonObject };
      if (id === undefined) return response.writeHead(202).end();
      if (method !== 'initialize') {
        const result = play(method, response);
        return result && response.end(`{"jsonrpc":"2.0","id":${id},"result":${result}}`);
      }
      response.writeHead(200, { 'content-type': 'application/json' });
      const serverInfo = { name: 'web', version: '1' };
      const result = { protocolVersion: params['protocolVersion'], capabilities: { tools: {} }, serverInfo };
      return response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

function never(): never {
  throw new Error('It was not too long.');
}
