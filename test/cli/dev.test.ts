/** `everlap dev` as a process: its server, its worker that comes back, and what it leaves behind. */
import { existsSync } from 'node:fs';
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startScriptedModel, text, type ScriptedModel } from 'everlap/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { AGENT, Cli, configText, looksLikeOneSentence } from './support.js';

const SLOW = 180_000;
const FREE = ['--port', '0', '--ui-port', '0'];
let folder: string;
let model: ScriptedModel;
let started: Cli[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'everlap-dev-cli-'));
  model = await startScriptedModel({ script: () => text('Done.') });
  started = [];
});
afterEach(async () => {
  await Promise.all(started.map((cli) => cli.end()));
  await model.close({ verify: false });
  await rm(folder, { recursive: true, force: true });
});

function start(...args: readonly string[]): Cli {
  // It must not mind what points to other servers.
  const elsewhere = { TEMPORAL_ADDRESS: '127.0.0.1:1', TEMPORAL_API_KEY: 'x', TEMPORAL_NAMESPACE: 'none' };
  const cli = new Cli(args, { cwd: folder, env: { ...model.env, ...elsewhere } });
  started.push(cli);
  return cli;
}

/** A command for the server that `everlap dev` has started. */
async function run(
  address: string,
  ...args: readonly string[]
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const cli = new Cli(args, { cwd: folder, env: { TEMPORAL_ADDRESS: address } });
  started.push(cli);
  return cli.ended;
}

async function addressOf(dev: Cli): Promise<string> {
  return (await dev.waitFor(/Temporal +(127\.0\.0\.1:\d+)/))[1] ?? '';
}

/** Resolves when `pattern` was printed `times`. */
async function waitForTimes(dev: Cli, pattern: string, times: number): Promise<void> {
  await dev.waitFor(new RegExp(`(${pattern}[^]*){${times}}`));
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** Its worker's process id, as Linux tells. */
async function workerOf(dev: Cli): Promise<number> {
  const children = await readFile(`/proc/${dev.pid}/task/${dev.pid}/children`, 'utf8');
  for (const pid of children.trim().split(' ').map(Number)) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (command.includes('main.js\0worker')) return pid;
  }
  throw new Error(`No worker among ${children}`);
}

it(
  'starts server and worker, starts the worker again on changes, and keeps runs over a restart',
  async () => {
    await writeFile(join(folder, 'queue.ts'), `export const queue: string = 'first';`);
    const config = `import { queue } from './queue.js';\n${configText('x').replace("'x'", 'queue')}`;
    await writeFile(join(folder, 'everlap.config.ts'), config);
    const dev = start('dev', ...FREE);
    const address = await addressOf(dev);
    await dev.waitFor(/Worker polls task queue first /);
    const ui = (await dev.waitFor(/UI +(http:\S+)/))[1] ?? '';
    expect((await fetch(ui)).status).toBe(200);

    const first = await run(address, 'run', AGENT, 'x', '--id', 'before');
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.stdout).toContain(`Temporal UI: ${ui}/namespaces/default/workflows/before`);

    // A source that the config imports; then one that is broken, and mended.
    await writeFile(join(folder, 'queue.ts'), `export const queue: string = 'second';`);
    await dev.waitFor(/queue\.ts changed[^]*Worker stopped\.[^]*Worker polls task queue second /);
    await appendFile(join(folder, 'everlap.config.ts'), '}}');
    await dev.waitFor(/everlap\.config\.ts cannot be loaded: Unexpected token/);
    await dev.waitFor(/did not start; it is started again when a source changes/);
    await writeFile(join(folder, 'everlap.config.ts'), config);
    await waitForTimes(dev, 'Worker polls task queue second', 2);

    dev.signal('SIGINT');
    const { code, stdout } = await dev.ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/Stopping the worker, then the server\.\nWorker stopped\.\n$/);
    expect(existsSync(join(folder, '.everlap', 'dev.json'))).toBe(false);

    const again = start('dev', '--no-worker', ...FREE);
    const listed = await run(await addressOf(again), 'list');
    expect(listed.stdout).toMatch(/completed +answered +tester .* before\n/);
    expect((await again.end('SIGTERM')).stdout).not.toContain('Worker');
  },
  SLOW,
);

it.runIf(process.platform === 'linux')(
  'starts the worker again when it dies, and takes it with it when it is killed itself',
  async () => {
    await writeFile(join(folder, 'everlap.config.ts'), configText('dying'));
    const dev = start('dev', ...FREE);
    await dev.waitFor(/Worker polls/);
    process.kill(await workerOf(dev), 'SIGKILL');
    await dev.waitFor(/The worker ended by itself \(SIGKILL\); it is started again/);
    await waitForTimes(dev, 'Worker polls', 2);

    const worker = await workerOf(dev);
    await dev.end('SIGKILL');
    while (isAlive(worker)) await new Promise((resolve) => setTimeout(resolve, 50));
  },
  SLOW,
);

it(
  'says which port is taken, and that there is no config',
  async () => {
    const none = await start('dev', ...FREE).ended;
    expect(none.stderr).toMatch(/There is no everlap\.config\.ts .*defineConfig/);
    expect(none.stderr).toSatisfy(looksLikeOneSentence);
    expect(none.code).toBe(1);
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const { port } = z.object({ port: z.number() }).parse(taken.address() satisfies AddressInfo | string | null);
    const { code, stderr } = await start('dev', '--no-worker', '--port', `${port}`, '--ui-port', '0').ended;
    expect(stderr).toMatch(new RegExp(`Port ${port} .*another port \\(--port; 0 for a free one\\)`));
    expect(stderr).toSatisfy(looksLikeOneSentence);
    expect(code).toBe(1);
    taken.close();
  },
  SLOW,
);
