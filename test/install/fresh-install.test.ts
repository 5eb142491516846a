/** The packed package in an empty project, installed by npm as users do: external storage works there, or says why not. */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startDevServer, type DevServer } from '../../src/dev/dev-server.js';

const INSTALL_WITHIN_MS = 5 * 60_000;
const RUN_WITHIN_MS = 2 * 60_000;
const MB = 1024 * 1024;

const repository = fileURLToPath(new URL('../..', import.meta.url));
const exec = promisify(execFile);

let server: DevServer;
let folder: string;
let project: string;

beforeAll(async () => {
  // Suggests to continue as new after some sixteen turns: by then the run carries more than 5 MB.
  server = await startDevServer({ dynamicConfig: ['limit.historyCount.suggestContinueAsNew=200'] });
  folder = await mkdtemp(join(tmpdir(), 'everlap-install-'));
  project = join(folder, 'project');
  await mkdir(project);
  await writeFile(join(project, 'package.json'), JSON.stringify({ name: 'fresh', private: true, type: 'module' }));
  // What `npm test` has built, not built again: other tests are using it.
  await npm(repository, 'pack', '--ignore-scripts', '--pack-destination', folder);
  const [packed = ''] = (await readdir(folder)).filter((file) => file.endsWith('.tgz'));
  await npm(project, 'install', join(folder, packed));
  await copyFile(fileURLToPath(new URL('./large-run.js', import.meta.url)), join(project, 'large-run.js'));
}, INSTALL_WITHIN_MS);
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

async function npm(cwd: string, command: string, ...args: readonly string[]): Promise<void> {
  const flags = command === 'pack' ? [] : ['--prefer-offline', '--no-audit', '--no-fund'];
  await exec('npm', [command, ...flags, ...args], { cwd, timeout: INSTALL_WITHIN_MS });
}

interface LargeRun {
  readonly result: { readonly status: string; readonly turns: number };
  readonly messages: number;
  readonly compactions: number;
  readonly carriedBytes: number;
  readonly copies: readonly string[];
}

/** Rejects with what it said on standard error. */
async function largeRun(): Promise<LargeRun> {
  const args = ['large-run.js', server.address, folder];
  const { stdout } = await exec(process.execPath, args, { cwd: project, timeout: RUN_WITHIN_MS });
  return JSON.parse(stdout);
}

async function carriesMuch(): Promise<void> {
  const { result, messages, compactions, carriedBytes, copies } = await largeRun();
  expect(result).toMatchObject({ status: 'completed', turns: 21 });
  expect({ messages, compactions }).toEqual({ messages: 42, compactions: 0 });
  expect(carriedBytes).toBeGreaterThan(5 * MB);
  expect(copies).toHaveLength(1);
}

test(
  'a plain install has one copy of protobufjs, and a run carries 5 MB over continue-as-new',
  carriesMuch,
  RUN_WITHIN_MS,
);

test(
  'beside a package that brings an older protobufjs, the worker says what to do, and that helps',
  async () => {
    await npm(project, 'install', 'protobufjs@7.6.6');
    const said = await largeRun().then(
      () => 'nothing',
      (error: unknown) => String(error),
    );
    expect(said).toMatch(/Error: External storage does not work with two copies of protobufjs, /);
    const [, packages = ''] = /npm install (\S+) && npm dedupe\n/.exec(said) ?? [];
    await npm(project, 'install', packages);
    await npm(project, 'dedupe');
    await carriesMuch();
  },
  INSTALL_WITHIN_MS,
);
