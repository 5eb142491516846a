/** What people get wrong: each time one sentence on standard error that says what to do, exit code 1, and no stack. */
import { writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { AGENT, configText, looksLikeOneSentence, startCliRig, type CliRig } from './support.js';

// Each test starts processes; a busy machine takes its time for them.
vi.setConfig({ testTimeout: 180_000 });
let rig: CliRig;

beforeAll(async () => {
  rig = await startCliRig();
  await writeFile(join(rig.folder, 'broken.ts'), 'export default {{');
});
afterAll(() => rig.stop());

/** Without a worker: whatever needs one is refused, too. */
const CASES: readonly (readonly [args: readonly string[], sentence: RegExp])[] = [
  [['run', 'nobody', 'x'], /There is no agent "nobody" in .*everlap\.config\.ts; it has: tester/],
  [
    ['run', AGENT, 'x'],
    /No worker polls the task queue "cli-.*" .*nothing was started; start one with `everlap worker`/,
  ],
  [['run', AGENT, ' '], /The task is empty/],
  [['run', AGENT], /missing required argument 'task'/],
  [['run', AGENT, 'x', '--settings', '{'], /--settings is no JSON .*write for example/],
  [['run', AGENT, 'x', '--settings', '[]'], /--settings cannot be used/],
  [['run', AGENT, 'x', '--settings', '{"modell":"x"}'], /--settings cannot be used.*modell.*its fields are model/],
  [['run', AGENT, 'x', '--settings', '{"limits":{"turns":0}}'], /--settings cannot be used at limits\.turns/],
  [['run', AGENT, 'x', '--turns', '0'], /limits\.turns is 0; it must be a whole number of at least 1/],
  [['run', AGENT, 'x', '--turns', 'many'], /'--turns <n>' argument 'many' is invalid.*number/],
  [['run', AGENT, 'x', '--duration', 'soon'], /limits\.duration is "soon"; it must be a duration/],
  [['run', AGENT, 'x', '--id', ''], /--id is empty/],
  [['run', AGENT, 'x', '--jsno'], /unknown option '--jsno' .*Did you mean --json/],
  [['limits', 'x'], /Name at least one limit: --turns/],
  [['limits', 'x', '--usd', '-1'], /limits\.usd is -1; it must be a number above 0/],
  [['state', 'no-such-run'], /There is no run no-such-run in this namespace\. `everlap list` shows/],
  [['messages', 'no-such-run'], /There is no run no-such-run/],
  [['steer', 'no-such-run', 'x'], /There is no run no-such-run/],
  [['pause', 'no-such-run'], /There is no run no-such-run/],
  [['cancel', 'no-such-run'], /There is no run no-such-run/],
  [['watch', 'no-such-run'], /There is no run no-such-run/],
  [['watch', 'no-such-run', '--after', 'x'], /"x" is no event id/],
  [['list', '--query', 'foo bar'], /The filter was refused/],
  [
    ['list', '--status', 'bogus'],
    /"bogus" is no status of a run; it must be one of running, paused, waiting, idle, comp/,
  ],
  [['list', '--limit', '0'], /'--limit <n>' argument '0' is invalid/],
  [['list', '--namespace', 'no-such'], /no namespace "no-such"; name one that it has with --namespace/],
  [['worker', '--namespace', 'no-such'], /amespace.*no-such/],
  [['worker', '--config', 'nowhere.ts'], /The config .*nowhere\.ts does not exist; correct --config/],
  [['worker', '--config', '.'], /The config .* is a folder; name the file in it/],
  [['worker', '--config', 'broken.ts'], /The config .*broken\.ts cannot be loaded: Unexpected token/],
  [['run', AGENT, 'x', '--config', 'broken.ts'], /The config .*broken\.ts cannot be loaded/],
  [['worker', '--build-id', 'v1'], /A versioned worker needs both --deployment and --build-id .*; give the other/],
  [['worker', '--build-id', 'v1', '--deployment', 'a.b'], /The deployment's name is "a\.b"; it must be a text without/],
  [['worker', '--log-level', 'loud'], /Allowed choices are TRACE, DEBUG/],
  [['dev', '--port', '70000'], /A port is 0 to 65535/],
  [['dev', '--address', '127.0.0.1:7233'], /starts a server of its own; .*everlap worker --address/],
  [['dev', '--config', 'broken.ts', '--port', 'x'], /'--port <n>' argument 'x' is invalid/],
  [['list', '--address', 'http://127.0.0.1'], /"http:\/\/127\.0\.0\.1" is no address of a Temporal server/],
  [['worker', '--address', '127.0.0.1:1'], /No Temporal server answers at 127\.0\.0\.1:1 .*everlap dev/],
  [['stat'], /unknown command 'stat' .*Did you mean state/],
];

describe('everlap', () => {
  it.each(CASES)('%j', async (args, sentence) => {
    const { code, stdout, stderr } = await rig.run(...args);
    expect(stderr).toMatch(sentence);
    expect(stderr).toSatisfy(looksLikeOneSentence);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  });

  it('says so where nothing answers, whatever listens there', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const { port } = silent.address() as AddressInfo;
    for (const address of [`127.0.0.1:${port}`, '127.0.0.1:1']) {
      const { code, stderr } = await rig.run('list', '--address', address);
      expect(stderr).toMatch(new RegExp(`No Temporal server answers at ${address}.*everlap dev`));
      expect(stderr).toSatisfy(looksLikeOneSentence);
      expect(code).toBe(1);
    }
    silent.close();
  });

  it('does not start without a config where one is needed', async () => {
    const elsewhere = rig.start(['worker', '--config', join(rig.folder, 'none', 'x.ts')]);
    expect((await elsewhere.ended).stderr).toMatch(/does not exist/);
  });

  it('warns, and starts all the same, with --detach and no worker', async () => {
    const { code, stdout, stderr } = await rig.run('run', AGENT, 'wait', '--detach', '--id', `wait-${rig.taskQueue}`);
    expect(stderr).toMatch(/^No worker polls .*: the run waits for one; start one/);
    expect(stdout).toContain(`Run wait-${rig.taskQueue}`);
    expect(code).toBe(0);
    const again = await rig.run('run', AGENT, 'wait', '--detach', '--id', `wait-${rig.taskQueue}`);
    expect(again.stderr).toMatch(/A run with the id wait-\S+ exists already; choose another --id/);
    expect(again.code).toBe(1);
    // It cannot answer: that is said at once, instead of waiting for ever.
    for (const args of [['state'], ['steer', 'x'], ['pause']]) {
      const [name = '', ...rest] = args;
      const asked = await rig.run(name, `wait-${rig.taskQueue}`, ...rest);
      expect(asked.stderr).toMatch(/cannot answer, since no worker polls its task queue/);
      expect(asked.stderr).toSatisfy(looksLikeOneSentence);
      expect(asked.code).toBe(1);
    }
    const cancelled = await rig.run('cancel', `wait-${rig.taskQueue}`);
    expect(cancelled.stderr).toMatch(/No worker polls .*: it ends as soon as one does/);
    expect(cancelled.code).toBe(0);
  });

  it('shows its commands without any, and its help on demand', async () => {
    const bare = await rig.run();
    expect(bare).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('doctor') as unknown });
    expect(await rig.run('--help')).toMatchObject({ code: 0, stderr: '' });
    expect((await rig.run('run', '--help')).stdout).toContain('Exit codes: 0 completed, 2 exhausted');
    expect((await rig.run('--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('warns of a missing API key when a worker starts, and starts', async () => {
    const worker = rig.start(['worker'], { OPENAI_API_KEY: '', OPENAI_BASE_URL: '' });
    await worker.waitFor(/Worker polls/);
    expect((await worker.end()).stderr).toMatch(/Model calls will fail \(auth\) until OPENAI_API_KEY is set/);
    await writeFile(
      join(rig.folder, 'own.ts'),
      configText(rig.taskQueue).replace(
        'defineConfig({',
        'defineConfig({ provider: { name: "own", answer: async () => { throw new Error("none"); } },',
      ),
    );
    const own = rig.start(['worker', '--config', 'own.ts'], { OPENAI_API_KEY: '', OPENAI_BASE_URL: '' });
    await own.waitFor(/Worker polls/);
    expect((await own.end()).stderr).toBe('');
  });
});
