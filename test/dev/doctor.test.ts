// What `everlap doctor` finds: with nothing there, and with a server, a namespace and a worker.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDevServer, type DevServer } from '../../src/dev/dev-server.js';
import { diagnose, node, type Check, type DiagnoseOptions } from '../../src/dev/doctor.js';
import { freePort } from '../../src/dev/free-port.js';

const NAMES = [
  ...['Node.js', 'Temporal CLI', 'Python with pip', 'API key', 'Model server', 'ripgrep', 'Cache folder'],
  ...['Temporal server', 'Namespace', 'Search attributes', 'Worker'],
];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'everlap-doctor-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function byName(options: DiagnoseOptions): Promise<Map<string, Check>> {
  const checks = await diagnose(options);
  expect(checks.map(({ name }) => name)).toEqual(NAMES);
  for (const { ok, fix } of checks) expect(ok && fix !== undefined).toBe(false);
  return new Map(checks.map((check) => [check.name, check]));
}

describe('where nothing is there', () => {
  it('says of each thing what is missing and what to do, and changes nothing', async () => {
    const file = join(folder, 'file');
    await writeFile(file, '');
    const address = `127.0.0.1:${await freePort()}`;
    const env = { PATH: '', EVERLAP_CACHE: join(file, 'cache'), OPENAI_BASE_URL: 'ftp://user:hunter2@x' };
    const checks = await byName({ address, namespace: 'default', taskQueue: 'everlap', env });

    expect(checks.get('Node.js')).toMatchObject({ ok: true, detail: process.versions.node });
    expect(checks.get('ripgrep')?.detail).toMatch(/^ripgrep \d/);
    for (const name of ['Temporal CLI', 'Python with pip', 'API key', 'Model server', 'Cache folder']) {
      expect(checks.get(name), name).toMatchObject({ ok: false });
      expect(checks.get(name)?.fix, name).toMatch(/\.$|docs/);
    }
    expect(checks.get('Temporal server')?.ok).toBe(false);
    expect(checks.get('Temporal server')?.detail).toContain(address);
    for (const name of ['Namespace', 'Search attributes', 'Worker']) {
      expect(checks.get(name)).toMatchObject({ ok: false, detail: 'not looked at: no server' });
    }
    expect(JSON.stringify([...checks.values()])).not.toContain('hunter2');
  }, 60_000);

  it('tells no secret: neither the key nor what stands in the base URL', async () => {
    const env = {
      ...{ PATH: '', EVERLAP_CACHE: folder, EVERLAP_TEMPORAL_CLI: join(folder, 'missing'), MY_KEY: 'sk-hunter2' },
      OPENAI_BASE_URL: 'https://me:hunter2@models.example/v1?token=hunter2#hunter2',
    };
    const address = `127.0.0.1:${await freePort()}`;
    const checks = await byName({ address, namespace: 'default', taskQueue: 'everlap', apiKeyEnv: 'MY_KEY', env });
    expect(checks.get('API key')).toMatchObject({ ok: true, detail: 'MY_KEY is set' });
    expect(checks.get('Model server')).toMatchObject({ ok: true, detail: 'https://models.example/v1' });
    expect(checks.get('Temporal CLI')).toMatchObject({ ok: false, optional: false });
    expect(checks.get('Temporal CLI')?.fix).toContain('unset');
    expect(checks.get('Cache folder')).toMatchObject({ ok: true, detail: folder });
    expect(JSON.stringify([...checks.values()])).not.toContain('hunter2');
  }, 60_000);

  it.each([
    ['20.19.0', true],
    ['20.20.2', true],
    ['22.1.0', true],
    ['20.18.9', false],
    ['18.20.0', false],
  ])('Node.js %s: %s', (version, ok) => {
    expect(node(version).ok).toBe(ok);
  });
});

describe('where a server runs', () => {
  let server: DevServer;
  let connection: Connection;
  beforeAll(async () => {
    server = await startDevServer();
    connection = await Connection.connect({ address: server.address });
  }, 120_000);
  afterAll(async () => {
    await connection?.close();
    await server?.kill();
  });
  const look = (more: Partial<DiagnoseOptions> = {}): Promise<Map<string, Check>> =>
    byName({ address: server.address, namespace: 'default', taskQueue: 'everlap', ...more });

  it('names a namespace that is missing', async () => {
    const checks = await look({ namespace: 'elsewhere' });
    expect(checks.get('Temporal server')).toMatchObject({ ok: true });
    expect(checks.get('Temporal server')?.detail).toMatch(/version 1\./);
    expect(checks.get('Namespace')?.fix).toContain('create --namespace elsewhere');
    expect(checks.get('Worker')).toMatchObject({ ok: false, detail: 'not looked at: no namespace' });
  });

  it('sees whether somebody polls the task queue, for both kinds of tasks', async () => {
    const before = await look();
    expect(before.get('Temporal CLI')?.ok).toBe(true);
    expect(before.get('Search attributes')).toMatchObject({ ok: true });
    expect(before.get('Worker')).toMatchObject({
      ok: false,
      detail: 'none polls task queue "everlap" for workflows and activities',
    });

    const stop = new AbortController();
    const { workflowService } = connection;
    const request = { namespace: 'default', taskQueue: { name: 'everlap' }, identity: 'test' };
    /** A worker that waits for work until `stop`. (The server refuses polls without a deadline.) */
    const poll = (ask: () => Promise<unknown>): Promise<unknown> =>
      connection.withAbortSignal(stop.signal, () => connection.withDeadline(Date.now() + 60_000, ask)).catch(() => {});
    const untilWorker = async (said: string): Promise<void> => {
      while ((await look()).get('Worker')?.detail !== said);
    };
    const polls = [poll(() => workflowService.pollWorkflowTaskQueue(request))];
    await untilWorker('none polls task queue "everlap" for activities');
    polls.push(poll(() => workflowService.pollActivityTaskQueue(request)));
    await untilWorker('polls task queue "everlap"');
    stop.abort();
    await Promise.all(polls);
    expect((await look({ taskQueue: 'other' })).get('Worker')?.ok).toBe(false);
  }, 60_000);

  it('sees that search attributes are missing', async () => {
    const searchAttributes = ['EverlapCostUsd'];
    await connection.operatorService.removeSearchAttributes({ namespace: 'default', searchAttributes });
    let check: Check | undefined;
    do check = (await look()).get('Search attributes');
    while (check?.ok);
    expect(check).toMatchObject({ ok: false, optional: true, fix: '`everlap setup` adds them.' });
  }, 60_000);
});
