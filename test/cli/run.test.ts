/** `everlap worker`, `run` and `watch` as processes: what they print, how they end, and what they leave alone. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { call, gate, httpError, text } from 'everlap/testing';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { AGENT, jsonLines, startCliRig, type Cli, type CliRig } from './support.js';

const slow = gate();
const never = gate();
const finished = gate();
const list = call('list_files', {});
const words = 'Here are many words, of which each comes by itself.';

// Each test starts processes; a busy machine takes its time for them.
vi.setConfig({ testTimeout: 180_000 });
let rig: CliRig;
let worker: Cli;

beforeAll(async () => {
  rig = await startCliRig({
    'two turns': [list, text(words, { chunkDelayMs: 30, pieceChars: 5 })],
    'as json': [list, text(words, { chunkDelayMs: 30, pieceChars: 5 })],
    'no end': Array.from({ length: 9 }, (_, at) => call('list_files', { path: at % 2 ? '.' : '' })),
    'bad key': [httpError(401, { message: 'Wrong key.' })],
    'be stopped': () => text('late', { waitFor: finished }),
    'be cancelled': () => text('late', { waitFor: never }),
    'be left': [text('The end, after all.', { waitFor: slow })],
    'be left to itself': [text('Done alone.')],
    'in a pipe': () => text(words.repeat(20), { chunkDelayMs: 5 }),
    escape: [text('red \u001b[31m and \u0007 a bell')],
    'watch me': [list, text('Seen.')],
  });
  worker = await rig.startWorker();
});
afterAll(async () => {
  slow.open();
  never.open();
  await rig.stop();
});

describe('everlap run', () => {
  it('shows turns, tool calls and words, says where it stands, and ends with 0', async () => {
    const { code, stdout, stderr } = await rig.run('run', AGENT, 'two turns', '--id', 'cli-two');
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toContain('Run cli-two');
    expect(stdout).toContain('→ list_files');
    expect(stdout).toContain('← list_files: There are no files there');
    expect(stdout).toMatch(/Turn 2 · scripted · so far 1 tool call, [\d,]+ tokens/);
    // Once: what was streamed is not said again.
    expect(stdout.split(words)).toHaveLength(2);
    expect(stdout).toMatch(/completed \(answered\) · 2 turns · 1 tool call/);
    expect(stdout).not.toContain('\u001b');
  });

  it('prints one JSON object a line, tokens included, the result last', async () => {
    const { code, stdout, stderr } = await rig.run('run', AGENT, 'as json', '--json', '--id', 'cli-json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = jsonLines(stdout);
    expect(lines[0]).toMatchObject({ type: 'run', id: 'cli-json', agent: AGENT });
    const types = lines.map(({ type }) => type);
    for (const type of ['run_started', 'turn_started', 'tool_started', 'tool_finished', 'tokens', 'model_answered']) {
      expect(types).toContain(type);
    }
    expect(lines.at(-1)).toEqual({
      type: 'result',
      result: expect.objectContaining({ status: 'completed', reason: 'answered', output: words, turns: 2 }) as unknown,
    });
    expect(types.filter((type) => type === 'result' || type === 'ended')).toEqual(['result']);
  });

  it('ends with 2 when exhausted, 1 when failed, and says why', async () => {
    const exhausted = await rig.run('run', AGENT, 'no end', '--turns', '2');
    expect(exhausted.stdout).toContain('exhausted (max_turns)');
    expect(exhausted.code).toBe(2);
    const failed = await rig.run('run', AGENT, 'bad key');
    expect(failed.stdout).toMatch(/failed \(auth\)[^]*Wrong key|Wrong key[^]*failed \(auth\)/);
    expect(failed.code).toBe(1);
  });

  it('ends with 3 when stopped by everlap finish, with its output', async () => {
    const run = rig.start(['run', AGENT, 'be stopped', '--id', 'cli-stopped']);
    await run.waitFor(/Turn 1/);
    const finish = await rig.run('finish', 'cli-stopped', '--reason', 'enough', '--output', 'as it is');
    expect(finish).toMatchObject({ code: 0, stderr: '' });
    expect(finish.stdout).toMatch(/ends at its next safe point/);
    finished.open();
    const { code, stdout } = await run.ended;
    expect(stdout).toMatch(/stopped \(force_finished\)[^]*as it is/);
    expect(code).toBe(3);
  });

  it('ends with 130 when cancelled by everlap cancel', async () => {
    const run = rig.start(['run', AGENT, 'be cancelled', '--id', 'cli-cancelled', '--json']);
    await run.waitFor(/turn_started/);
    const cancel = await rig.run('cancel', 'cli-cancelled');
    expect(cancel).toMatchObject({ code: 0, stderr: '' });
    const { code, stdout } = await run.ended;
    expect(jsonLines(stdout).at(-1)).toMatchObject({ type: 'result', result: { status: 'cancelled' } });
    expect(code).toBe(130);
  });

  it('detaches on Ctrl-C, says how to go on, and the run goes on', async () => {
    const run = rig.start(['run', AGENT, 'be left', '--id', 'cli-left', '--address', rig.address]);
    await run.waitFor(/Turn 1/);
    run.signal('SIGINT');
    const { code, stderr } = await run.ended;
    expect(code).toBe(130);
    expect(stderr).toContain(`everlap cancel cli-left --address ${rig.address}`);
    const after = /everlap watch cli-left --address \S+ --after (\S+)/.exec(stderr)?.[1] ?? '';
    slow.open();
    const watched = await rig.run('watch', 'cli-left', '--after', after, '--json');
    expect(watched.code).toBe(0);
    const lines = jsonLines(watched.stdout);
    expect(lines.map(({ type }) => type)).not.toContain('turn_started');
    expect(lines.at(-1)).toMatchObject({ type: 'result', result: { output: 'The end, after all.' } });
  });

  it('ends at once on a second Ctrl-C', async () => {
    const interrupts = new URL('../../dist/cli/interrupts.js', import.meta.url).href;
    const script = `
      const { signal } = (await import('${interrupts}')).onInterrupt();
      signal.addEventListener('abort', () => console.log('first'));
      setInterval(() => undefined, 1000);
      console.log('ready');`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exit = once(child, 'exit');
    for await (const line of child.stdout.setEncoding('utf8')) {
      expect(['ready\n', 'first\n']).toContain(line);
      child.kill('SIGINT');
    }
    expect(await exit).toEqual([130, null]);
  });

  it('leaves a run to itself with --detach', async () => {
    const { code, stdout } = await rig.run(
      'run',
      AGENT,
      'be left to itself',
      '--id',
      'cli-detached',
      '--detach',
      '--json',
    );
    expect(code).toBe(0);
    expect(jsonLines(stdout)).toEqual([expect.objectContaining({ type: 'run', id: 'cli-detached' }) as unknown]);
    expect((await rig.run('watch', 'cli-detached')).stdout).toContain('Done alone.');
  });

  it('ends without a word when its reader goes away', async () => {
    const run = rig.start(['run', AGENT, 'in a pipe', '--json']);
    await run.waitFor(/turn_started/);
    run.closeStdout();
    const { code, stderr } = await run.ended;
    expect({ code, stderr }).toEqual({ code: 141, stderr: '' });
  });

  it('does not let a model steer the terminal', async () => {
    const { stdout } = await rig.run('run', AGENT, 'escape');
    expect(stdout).toContain('red �[31m and � a bell');
    // eslint-disable-next-line no-control-regex -- this is what is looked for
    expect(stdout).not.toMatch(/[\x00-\x08\x0b-\x1f]/);
  });

  it('knows the UI that EVERLAP_UI names', async () => {
    const run = rig.start(['run', AGENT, 'watch me', '--id', 'cli ui', '--detach'], { EVERLAP_UI: 'http://ui.test/' });
    expect((await run.ended).stdout).toContain('http://ui.test/namespaces/default/workflows/cli%20ui');
  });
});

describe('everlap watch', () => {
  it('shows a run that has ended, from its start', async () => {
    const { code, stdout, stderr } = await rig.run('watch', 'cli-two');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/Turn 1[^]*→ list_files[^]*Turn 2[^]*completed \(answered\)/);
  });

  it('has the exit code of how the run ended', async () => {
    expect((await rig.run('watch', 'cli-stopped')).code).toBe(3);
    expect((await rig.run('watch', 'cli-cancelled')).code).toBe(130);
  });
});

describe('everlap worker', () => {
  it('stops in order on SIGTERM, with 0', async () => {
    const { code, stdout } = await worker.end('SIGTERM');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Worker polls .*: 1 agent \(tester\)\.\n(.*\n)*Worker stopped\.\n$/);
  });

  it('of a version says how to give it work', async () => {
    const version = { TEMPORAL_DEPLOYMENT_NAME: `cli-${rig.taskQueue}`, TEMPORAL_WORKER_BUILD_ID: 'v1' };
    const versioned = rig.start(['worker', '--task-queue', `${rig.taskQueue}-v`], version);
    const [, name] = await versioned.waitFor(/set-current-version --deployment-name (\S+) --build-id v1\n/);
    expect(name).toBe(version.TEMPORAL_DEPLOYMENT_NAME);
    expect(await versioned.end()).toMatchObject({ code: 0 });
  });
});
