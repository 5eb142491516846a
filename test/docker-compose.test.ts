// docker-compose.yml and what it refers to, without Docker: its references, its images, its variables, its scripts.
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { startDevServer, type DevServer } from '../src/dev/dev-server.js';
import { EVERLAP_SEARCH_ATTRIBUTES, hasSearchAttributes } from '../src/dev/search-attributes.js';
import { findTemporalCli } from '../src/dev/temporal-cli.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const source = read('docker-compose.yml');

const Service = z.strictObject({
  image: z.string().optional(),
  build: z.string().optional(),
  command: z.array(z.string()).optional(),
  entrypoint: z.array(z.string()).optional(),
  init: z.boolean().optional(),
  restart: z.string(),
  stop_grace_period: z.string().optional(),
  environment: z.record(z.string(), z.string().nullable()),
  depends_on: z
    .record(z.string(), z.object({ condition: z.enum(['service_healthy', 'service_completed_successfully']) }))
    .default({}),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  healthcheck: z
    .strictObject({
      ...{ test: z.array(z.string()), interval: z.string(), timeout: z.string() },
      ...{ retries: z.number(), start_period: z.string() },
    })
    .optional(),
});
const Compose = z.strictObject({
  name: z.literal('everlap'),
  services: z.record(z.string(), Service),
  volumes: z.record(z.string(), z.null()),
});
const compose = Compose.parse(parse(source));
const services = Object.entries(compose.services);

/** `${NAME:-default}` as Compose fills it in where NAME is not set. */
const filled = (text: string): string => text.replace(/\$\{\w+:-([^}]*)\}/g, '$1');

describe('docker-compose.yml', () => {
  it('has the server, its database, its UI and a worker', () => {
    expect(Object.keys(compose.services)).toEqual([
      ...['postgresql', 'temporal-schema', 'temporal', 'temporal-namespace', 'temporal-ui', 'worker'],
    ]);
  });

  it('pins every image, and takes none that is deprecated', () => {
    expect(source).not.toMatch(/auto-setup|:latest/);
    for (const [name, { image, build }] of services) {
      expect(
        [image, build].filter((from) => from !== undefined),
        name,
      ).toHaveLength(1);
      if (image !== undefined) expect(filled(image), name).toMatch(/^[a-z/-]+:\d[\w.-]*$/);
    }
    const tags = new Set(['temporal', 'temporal-schema', 'temporal-namespace'].map((name) => tagOf(name)));
    expect(tags.size).toBe(1); // the schema has to be the server's
  });
  const tagOf = (name: string): string | undefined => compose.services[name]?.image?.split(':').slice(1).join(':');

  it('waits only for what is there, in a way that it can reach', () => {
    for (const [name, { depends_on }] of services) {
      for (const [other, { condition }] of Object.entries(depends_on)) {
        const awaited = compose.services[other];
        expect(awaited, `${name} waits for ${other}`).toBeDefined();
        if (condition === 'service_healthy') expect(awaited?.healthcheck, other).toBeDefined();
        else expect(awaited?.restart, `${other} ends`).toMatch(/^on-failure/);
      }
    }
  });

  it('mounts only volumes that are declared and files that are there', () => {
    const used = new Set<string>();
    for (const [name, { volumes }] of services) {
      for (const volume of volumes) {
        const [from = ''] = filled(volume).split(':');
        if (!from.startsWith('.')) used.add(from);
        else expect(existsSync(join(root, from)), `${name}: ${from}`).toBe(true);
      }
    }
    expect([...used].sort()).toEqual(Object.keys(compose.volumes).sort());
  });

  it('runs only scripts that are mounted or in the image', () => {
    for (const [, { entrypoint }] of services) {
      const script = entrypoint?.at(-1)?.replace('/scripts/', 'docker/scripts/');
      if (script !== undefined) expect(existsSync(join(root, script)), script).toBe(true);
    }
    const { temporal, worker } = compose.services;
    const config = temporal?.environment.DYNAMIC_CONFIG_FILE_PATH?.split('/').at(-1);
    expect(parse(read(`docker/dynamicconfig/${config}`))).toEqual({
      'history.transferProcessorMaxPollRPS': [{ value: 2000 }],
    });
    const health = worker?.healthcheck?.test.at(-1) ?? '';
    expect(read('Dockerfile')).toContain(`COPY ${health} `);
  });

  it('shows no port to the network', () => {
    for (const [name, { ports }] of services) {
      for (const port of ports) expect(filled(port), name).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
    }
  });

  it('tells every variable and its default, in the head of the file', () => {
    const told = new Map<string, string>();
    for (const [, name = '', value = ''] of source.matchAll(/^# {3}([A-Z_]+) .*\(([^)]*)\)$/gm)) told.set(name, value);
    const used = new Map<string, string>();
    for (const [, name = '', value = ''] of source.matchAll(/\$\{(\w+)(?::-([^}]*))?\}/g)) used.set(name, value);
    for (const [, { environment }] of services) {
      for (const [name, value] of Object.entries(environment)) if (value === null) used.set(name, 'not set');
    }
    expect([...told.keys()].sort()).toEqual([...used.keys()].sort());
    for (const [name, value] of used) expect(told.get(name), name).toMatch(new RegExp(`^${value}`));
  });
});

describe('Dockerfile', () => {
  const dockerfile = read('Dockerfile');

  it('copies only what is there and what .dockerignore lets through', () => {
    const allowed =
      read('.dockerignore')
        .match(/^!.*/gm)
        ?.map((line) => line.slice(1)) ?? [];
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, files = '']) =>
      files.split(' '),
    );
    expect(copied.length).toBeGreaterThan(0);
    for (const path of copied) {
      expect(existsSync(join(root, path)), path).toBe(true);
      expect(allowed).toContain(path);
    }
  });

  it('runs the worker as an ordinary user', () => {
    expect(dockerfile.match(/^USER .*/gm)).toEqual(['USER node']);
    expect(dockerfile).toMatch(/^CMD \["node", "dist\/cli\/main\.js", "worker"\]$/m);
    expect(dockerfile).not.toContain(':latest');
  });
});

describe.skipIf(process.platform === 'win32')('the scripts', () => {
  let folder: string;
  let server: DevServer;
  let env: NodeJS.ProcessEnv;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'everlap-compose-'));
    await symlink((await findTemporalCli()).path, join(folder, 'temporal'));
    server = await startDevServer();
    env = { ...process.env, PATH: `${folder}:${process.env.PATH}`, TEMPORAL_ADDRESS: server.address };
  }, 120_000);
  afterAll(async () => {
    await server?.kill();
    await rm(folder, { recursive: true, force: true });
  });
  const sh = (script: string, more: NodeJS.ProcessEnv) =>
    run('sh', [join(root, 'docker', 'scripts', script)], { env: { ...env, ...more } });

  it('make the namespace with all search attributes, and may run again', async () => {
    for (let time = 1; time <= 2; time++) {
      const { stdout } = await sh('create-namespace.sh', { TEMPORAL_NAMESPACE: 'team' });
      expect(stdout).toContain('Namespace team');
    }
    const connection = await Connection.connect({ address: server.address });
    try {
      while (!(await hasSearchAttributes(connection, 'team'))); // known everywhere after some seconds
      const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace: 'team' });
      expect(Object.keys(customAttributes).sort()).toEqual(Object.keys(EVERLAP_SEARCH_ATTRIBUTES).sort());
    } finally {
      await connection.close();
    }
  }, 120_000);

  it('bring both schemas up to date, and stop at the first failure', async () => {
    const log = join(folder, 'log');
    const tool = join(folder, 'temporal-sql-tool');
    await writeFile(tool, `#!/bin/sh\necho "$@" >> '${log}'\n[ "$3" != "$FAIL" ]\n`);
    await chmod(tool, 0o755);
    await sh('update-schema.sh', {});
    const versioned = '/etc/temporal/schema/postgresql/v12';
    expect((await readFile(log, 'utf8')).trim().split('\n')).toEqual([
      '--db temporal create',
      '--db temporal setup-schema -v 0.0',
      `--db temporal update-schema -d ${versioned}/temporal/versioned`,
      '--db temporal_visibility create',
      '--db temporal_visibility setup-schema -v 0.0',
      `--db temporal_visibility update-schema -d ${versioned}/visibility/versioned`,
    ]);
    await rm(log);
    await expect(sh('update-schema.sh', { FAIL: 'setup-schema' })).rejects.toThrow();
    expect((await readFile(log, 'utf8')).trim().split('\n')).toHaveLength(2);
  });

  it('find a worker healthy when it polls, not when only another one does', async () => {
    const health = () => run(process.execPath, [join(root, 'docker', 'worker-health.js')], { env });
    await expect(health()).rejects.toMatchObject({ code: 1, stdout: 'not polling everlap\n' });
    const connection = await Connection.connect({ address: server.address });
    const stop = new AbortController();
    const taskQueue = { name: 'everlap' };
    const poll = (identity: string): Promise<unknown> =>
      connection
        .withAbortSignal(stop.signal, () =>
          connection.withDeadline(Date.now() + 60_000, () =>
            connection.workflowService.pollWorkflowTaskQueue({ namespace: 'default', taskQueue, identity }),
          ),
        )
        .catch(() => undefined);
    const seen = async (identity: string): Promise<boolean> => {
      const request = { namespace: 'default', taskQueue, taskQueueType: 1 } as const;
      const { pollers } = await connection.workflowService.describeTaskQueue(request);
      return pollers.some((poller) => poller.identity === identity);
    };
    const polls = [poll('1@elsewhere')];
    while (!(await seen('1@elsewhere')));
    await expect(health()).rejects.toMatchObject({ code: 1 });
    polls.push(poll(`1@${hostname()}`));
    while (!(await seen(`1@${hostname()}`)));
    expect((await health()).stdout).toBe('polling\n');
    stop.abort();
    await Promise.all(polls);
    await connection.close();
  }, 60_000);
});
