/** `npm run demo` as a process, with the scripted model and with a model server of one's own. */
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { call, startScriptedModel, text } from 'everlap/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Cli } from './support.js';

const SLOW = 180_000;
let folder: string;
let demo: Cli | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'everlap-demo-'));
});
afterEach(async () => {
  await demo?.end('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Cli {
  demo = new Cli(args, { cwd: folder, env, file: 'demo.js' });
  return demo;
}

it(
  'explores this repository, shows its turns, writes a report with facts, and ends with 0',
  async () => {
    const { code, stdout, stderr } = await start([]).ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('a scripted model plays');
    expect(stdout).toMatch(/Temporal UI: http:\/\/127\.0\.0\.1:\d+\/namespaces\/default\/workflows\/demo-\w+/);
    expect(stdout).toMatch(/Turn 1 [^]*→ list_files [^]*→ search_files [^]*→ write_file [^]*completed \(answered\)/);
    expect(stdout).toMatch(/so far \d+ tool calls?, [\d,]+ tokens/);
    const path = /The report: (\S+)/.exec(stdout)?.[1] ?? '';
    const report = await readFile(join(folder, path), 'utf8');
    expect(report).toContain('- Package: everlap, ');
    expect(report).toMatch(/- Folders \(\d+\): .*\bsrc\b/);
    expect(report).toMatch(/ {2}- src\/workflows\/[\w-]+\.ts: line \d+/);
    expect(report).toMatch(/- Read: \S+, \d+ lines shown/);
    expect(stdout).toMatch(/Once more: npm run demo .*\n$/);
    // Of its own files it leaves the database and the workspace, no more.
    expect((await readdir(join(folder, '.everlap'))).filter((name) => !/^demo(-\d+)?\.db/.test(name))).toEqual([
      'workspaces',
    ]);
  },
  SLOW,
);

it(
  'asks the model that the environment names, keeps the UI up with --keep, and ends on Ctrl-C',
  async () => {
    const model = await startScriptedModel({
      script: [call('write_file', { path: 'report.md', content: '# Mine\n' }), text('I am no script.')],
    });
    const kept = start(['--keep'], { ...model.env, EVERLAP_MODEL: 'my-model' });
    await kept.waitFor(/The model is my-model at 127\.0\.0\.1:\d+\./);
    const ui = (await kept.waitFor(/The UI stays up until Ctrl-C: (\S+)/))[1] ?? '';
    expect((await fetch(ui)).status).toBe(200);
    kept.signal('SIGINT');
    const { code, stdout } = await kept.ended;
    expect(code).toBe(0);
    expect(stdout).toContain('I am no script.');
    expect(model.requests[0]?.body.model).toBe('my-model');
    const path = /The report: (\S+)/.exec(stdout)?.[1] ?? '';
    expect(existsSync(join(folder, path))).toBe(true);
    await model.close();
  },
  SLOW,
);

it(
  'ends on Ctrl-C in the middle, with server and worker',
  async () => {
    const model = await startScriptedModel({ script: () => text('slow '.repeat(500), { chunkDelayMs: 100 }) });
    const run = start([], model.env);
    await run.waitFor(/slow/);
    run.signal('SIGINT');
    const { code, stderr } = await run.ended;
    expect(code).toBe(130);
    expect(stderr).toContain('Interrupted.');
    expect(stderr).not.toMatch(/\bat .*:\d+:\d+/);
    await model.close({ verify: false });
  },
  SLOW,
);
