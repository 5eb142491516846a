// The embedded Temporal server, for real: start, ready, stop, crash, start again on the same file and port.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { defineSearchAttributeKey, TypedSearchAttributes } from '@temporalio/common';
import { msToTs } from '@temporalio/common/lib/time.js';
import ts from 'typescript';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startDevServer, type DevServer, type DevServerOptions } from '../../src/dev/dev-server.js';
import { freePort, isFree } from '../../src/dev/free-port.js';
import {
  EVERLAP_SEARCH_ATTRIBUTES,
  hasSearchAttributes,
  registerSearchAttributes,
} from '../../src/dev/search-attributes.js';

const SLOW = 120_000;
let folder: string;
let servers: DevServer[];
let connections: Connection[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'everlap-dev-'));
  servers = [];
  connections = [];
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await Promise.all(connections.map((connection) => connection.close()));
  await Promise.all(servers.map((server) => server.kill()));
  await rm(folder, { recursive: true, force: true });
});

async function start(options: DevServerOptions = {}): Promise<DevServer> {
  const server = await startDevServer(options);
  servers.push(server);
  return server;
}

async function clientOf({ address, namespace }: DevServer): Promise<Client> {
  const connection = await Connection.connect({ address });
  connections.push(connection);
  return new Client({ connection, namespace });
}

const alive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

async function until(what: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await what())) await sleep(50);
}

const attributes = new TypedSearchAttributes([
  { key: defineSearchAttributeKey('EverlapAgent', 'KEYWORD'), value: 'clerk' },
  { key: defineSearchAttributeKey('EverlapStatus', 'KEYWORD'), value: 'working' },
  { key: defineSearchAttributeKey('EverlapReason', 'KEYWORD'), value: 'none' },
  { key: defineSearchAttributeKey('EverlapTurns', 'INT'), value: 3 },
  { key: defineSearchAttributeKey('EverlapCostUsd', 'DOUBLE'), value: 0.25 },
]);

const startRun = (client: Client, workflowId: string) =>
  client.workflow.start('agentRun', { taskQueue: 'nobody', workflowId, typedSearchAttributes: attributes });

async function idsFound(client: Client): Promise<string[]> {
  const query = `EverlapAgent = 'clerk' AND EverlapTurns > 2 AND EverlapCostUsd < 0.5`;
  const ids: string[] = [];
  for await (const { workflowId } of client.workflow.list({ query })) ids.push(workflowId);
  return ids.sort();
}

describe('a server in memory', () => {
  it(
    'takes runs with search attributes as soon as it is ready, in a namespace of its own, and stops',
    async () => {
      const server = await start({ namespace: 'team', uiPort: 0 });
      expect(server.address).toBe(`127.0.0.1:${server.port}`);
      const client = await clientOf(server);
      await startRun(client, 'first');
      await until(async () => (await idsFound(client)).includes('first'));
      const { customAttributes } = await client.connection.operatorService.listSearchAttributes({ namespace: 'team' });
      expect(Object.keys(customAttributes)).toEqual(expect.arrayContaining(Object.keys(EVERLAP_SEARCH_ATTRIBUTES)));
      expect((await fetch(server.uiUrl ?? '')).status).toBe(200);

      await server.stop();
      await server.stop();
      expect(alive(server.pid)).toBe(false);
      expect(await isFree(server.port)).toBe(true);
      expect(await server.ended).toMatch(/^ended with exit code|^was ended by SIGTERM/);
    },
    SLOW,
  );

  it(
    'leaves no log behind, and none where a log file was asked for is lost',
    async () => {
      vi.stubEnv('TMPDIR', folder);
      const logFile = join(folder, 'made', 'server.log');
      const [quiet, logged] = await Promise.all([start(), start({ logFile })]);
      expect(quiet.uiUrl).toBeUndefined();
      expect(quiet.port).not.toBe(logged.port);
      await Promise.all([quiet.kill(), logged.kill()]);
      expect(await readFile(logFile, 'utf8')).toContain('Temporal');
      await until(async () => (await readdir(folder)).join() === 'made');
    },
    SLOW,
  );
});

describe('a server with a database file', () => {
  it(
    'keeps runs over a stop and over a SIGKILL, on the same file and port',
    async () => {
      const dbFile = join(folder, 'not', 'there', 'yet', 'temporal.db');
      const options = { dbFile, port: await freePort() };
      let server = await start(options);
      await startRun(await clientOf(server), 'one');
      await server.stop();

      server = await start(options);
      expect(server.port).toBe(options.port);
      await startRun(await clientOf(server), 'two');
      await server.kill();
      expect(alive(server.pid)).toBe(false);
      expect(await server.ended).toBe('was ended by SIGKILL');

      server = await start(options);
      const client = await clientOf(server);
      for (const id of ['one', 'two']) {
        expect((await client.workflow.getHandle(id).describe()).status.name).toBe('RUNNING');
      }
      await startRun(client, 'three');
      await until(async () => (await idsFound(client)).length === 3);
    },
    SLOW,
  );

  it(
    'has the search attributes in every namespace that it is started with, whatever the file had before',
    async () => {
      const options = { dbFile: join(folder, 'temporal.db') };
      const first = await start({ ...options, namespace: 'early' });
      const { connection } = await clientOf(first);
      await connection.operatorService.removeSearchAttributes({
        namespace: 'early',
        searchAttributes: ['EverlapTurns'],
      });
      await until(async () => !(await hasSearchAttributes(connection, 'early')));
      await first.stop();
      for (const namespace of ['early', 'late']) {
        const server = await start({ ...options, namespace });
        await startRun(await clientOf(server), 'in-it');
        await server.stop();
      }
    },
    SLOW,
  );
});

describe('search attributes of a namespace that has none', () => {
  it(
    'are added once, also by two at the same time, and are usable when that is done',
    async () => {
      const server = await start();
      const client = await clientOf(server);
      const { connection } = client;
      await connection.workflowService.registerNamespace({
        namespace: 'bare',
        workflowExecutionRetentionPeriod: msToTs('1 day'),
      });
      const bare = { ...server, namespace: 'bare' };
      await until(() =>
        hasSearchAttributes(connection, 'bare').then(
          () => true,
          () => false,
        ),
      );
      expect(await hasSearchAttributes(connection, 'bare')).toBe(false);
      const added = await Promise.all([1, 2].map(() => registerSearchAttributes(connection, 'bare')));
      expect(added.flat()).toContain('EverlapTurns');
      expect(await hasSearchAttributes(connection, 'bare')).toBe(true);
      expect(await registerSearchAttributes(connection, 'bare')).toEqual([]);
      await startRun(await clientOf(bare), 'in-bare');
    },
    SLOW,
  );

  it(
    'are refused by a sentence where one has another type, and in a namespace that is not there',
    async () => {
      const { connection } = await clientOf(await start());
      await connection.operatorService.removeSearchAttributes({
        namespace: 'default',
        searchAttributes: ['EverlapTurns', 'EverlapStatus'],
      });
      await connection.operatorService.addSearchAttributes({
        namespace: 'default',
        searchAttributes: { EverlapTurns: 2 },
      });
      await until(async () => !(await hasSearchAttributes(connection, 'default')));
      await expect(registerSearchAttributes(connection, 'default')).rejects.toThrow(
        /EverlapTurns that is not of type Int\. Remove or rename it/,
      );
      await expect(hasSearchAttributes(connection, 'nowhere')).rejects.toThrow();
    },
    SLOW,
  );
});

describe('failures', () => {
  const script = async (body: string): Promise<string> => {
    const path = join(folder, 'temporal');
    await writeFile(path, `#!/bin/sh\n${body}\n`);
    await chmod(path, 0o755);
    return path;
  };

  it('says that a port is in use', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    try {
      const executable = await script('exit 1');
      await expect(start({ executable, port })).rejects.toThrow(`Port ${port} of 127.0.0.1 cannot be used`);
      await expect(start({ executable, uiPort: port })).rejects.toThrow(/another port \(--ui-port/);
    } finally {
      taken.close();
    }
  });

  it('shows the end of the log of a server that ends at once, and only of this start', async () => {
    const logFile = join(folder, 'server.log');
    await writeFile(logFile, 'from yesterday\n');
    const executable = await script('echo "database disk image is malformed" >&2; exit 3');
    const error: unknown = await start({ executable, logFile }).catch((thrown: unknown) => thrown);
    expect(String(error)).toMatch(/ended with exit code 3 .*\n.*database disk image is malformed/);
    expect(String(error)).not.toContain('yesterday');
  });

  it('tries again where the ports that the server took for itself were taken', async () => {
    const count = join(folder, 'count');
    const executable = await script(`echo x >> '${count}'; echo "bind: address already in use"; exit 1`);
    await expect(start({ executable })).rejects.toThrow('address already in use');
    expect(await readFile(count, 'utf8')).toBe('x\nx\nx\n');
  });

  it('says that the executable is not there', async () => {
    await expect(start({ executable: join(folder, 'missing') })).rejects.toThrow(/could not be started: .*ENOENT/);
  });
});

describe.skipIf(process.platform === 'win32')('a process that ends without stopping its server', () => {
  it.each([
    ['exits', 'process.exit(0)'],
    ['throws', 'setTimeout(() => { throw new Error("oops") })'],
    ['is killed', 'process.kill(process.pid, "SIGKILL")'],
    ['gets Ctrl-C', 'process.kill(process.pid, "SIGINT"); setInterval(() => {}, 1000)'],
  ])('takes it along: %s', async (_how, ending) => {
    const source = await readFile(new URL('../../src/dev/leash.ts', import.meta.url), 'utf8');
    const leash = join(folder, 'leash.mjs');
    await writeFile(leash, ts.transpile(source, { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 }));
    const program = `
      const { spawn } = await import('node:child_process');
      const { leash } = await import(${JSON.stringify(pathToFileURL(leash))});
      const child = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
      leash(child.pid);
      process.stdout.write(child.pid + '\\n', () => { ${ending} });`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let said = '';
    parent.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await once(parent, 'close');
    const pid = Number(said.trim());
    expect(pid).toBeGreaterThan(0);
    await until(() => !alive(pid));
  });

  it('lets go of one that was stopped, and ends by itself', async () => {
    const { leash } = await import('../../src/dev/leash.js');
    const child = spawn('sleep', ['600'], { stdio: 'ignore' });
    leash(child.pid ?? 0)();
    await sleep(200);
    expect(child.exitCode).toBeNull();
    expect(child.signalCode).toBeNull();
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(existsSync(folder)).toBe(true);
  });
});
