/** The commands that speak to runs, list them and look at them, and `doctor` and `setup`, as processes on a real server. */
import { call, gate, text } from 'everlap/testing';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { AGENT, jsonLines, startCliRig, type CliRig } from './support.js';

const hold = gate();
const first = gate();
// Each test starts processes; a busy machine takes its time for them.
vi.setConfig({ testTimeout: 180_000 });
let rig: CliRig;

beforeAll(async () => {
  rig = await startCliRig({
    'be spoken to': [call('list_files', {}, { waitFor: hold }), text('Seen it.'), text('And the follow-up.')],
    'be paused': [call('list_files', {}, { waitFor: first }), text('Gone on.')],
  });
  await rig.startWorker();
});
afterAll(async () => {
  hold.open();
  first.open();
  await rig.stop();
});

describe('a run that works', () => {
  it('takes steering, follow-ups and limits, and shows them', async () => {
    const run = rig.start(['run', AGENT, 'be spoken to', '--id', 'cli-spoken', '--json']);
    await run.waitFor(/turn_started/);
    expect(await rig.run('steer', 'cli-spoken', 'look up')).toEqual({
      code: 0,
      stderr: '',
      stdout: 'Taken: number 1 in the queue, for turn 2.\n',
    });
    const followUp = await rig.run('follow-up', 'cli-spoken', 'and then?', '--json');
    expect(jsonLines(followUp.stdout)).toEqual([{ position: 1 }]);
    const limits = await rig.run('limits', 'cli-spoken', '--turns', '7', '--duration', '2 hours');
    expect(limits.stdout).toMatch(/In force now: .*turns 7 \(\d left\).*duration 2:00:00 \(1:59:\d\d left\)/);
    const unpriced = await rig.run('limits', 'cli-spoken', '--usd', '1');
    expect(unpriced.stderr).toMatch(/^everlap: .*usd.*\n$/);
    const state = await rig.run('state', 'cli-spoken');
    expect(state.stdout).toMatch(/queues +1 steering, 1 follow-up\n/);
    expect(state.stdout).toMatch(/task +be spoken to/);
    hold.open();
    const { code, stdout } = await run.ended;
    expect(code).toBe(0);
    expect(jsonLines(stdout).at(-1)).toMatchObject({ result: { output: 'And the follow-up.', turns: 3 } });
  });

  it('pauses and resumes', async () => {
    const run = rig.start(['run', AGENT, 'be paused', '--id', 'cli-paused']);
    await run.waitFor(/Turn 1/);
    const pausing = rig.start(['pause', 'cli-paused', '--json']);
    await pausing.waitFor(/Waiting: the run answers at its next safe point/);
    first.open();
    const paused = await pausing.ended;
    expect(jsonLines(paused.stdout)).toEqual([{ status: 'paused', phase: 'paused', lap: 1, turn: 1 }]);
    await run.waitFor(/Paused\./);
    const resumed = await rig.run('resume', 'cli-paused');
    expect(resumed).toMatchObject({ code: 0, stderr: '' });
    expect(resumed.stdout).toMatch(/^The run: /);
    expect((await run.ended).code).toBe(0);
  });
});

describe('a run that has ended', () => {
  it('still shows its state and messages', async () => {
    const state = await rig.run('state', 'cli-spoken', '--json');
    expect(jsonLines(state.stdout)).toEqual([
      expect.objectContaining({ status: 'completed', reason: 'answered', turn: 3 }) as unknown,
    ]);
    const messages = jsonLines((await rig.run('messages', 'cli-spoken', '--json')).stdout);
    expect(messages[0]).toEqual({ role: 'user', kind: 'task', text: 'be spoken to' });
    expect(messages.at(-1)).toMatchObject({ role: 'assistant', text: 'And the follow-up.' });
    const shown = await rig.run('messages', 'cli-spoken');
    expect(shown.stdout).toMatch(/user \(task\)\nbe spoken to\n\nassistant\n→ list_files/);
    expect(shown.stdout).toContain('[STEERING] look up');
  });

  it('takes nothing any more, and says so', async () => {
    for (const args of [
      ['steer', 'cli-spoken', 'x'],
      ['pause', 'cli-spoken'],
      ['finish', 'cli-spoken'],
      ['cancel', 'cli-spoken'],
    ]) {
      const { code, stdout, stderr } = await rig.run(...args);
      expect(stderr).toMatch(/^everlap: The run cli-spoken has ended; \w+ came too late\.\n$/);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    }
  });
});

describe('everlap list', () => {
  it('shows runs, newest first, of this task queue', async () => {
    const { code, stdout } = await rig.run('list', '--task-queue', rig.taskQueue);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^STATUS +REASON +AGENT +STARTED +ID\n/);
    expect(stdout).toMatch(/completed +answered +tester +[\d: -]+ {2}cli-paused\n/);
  });

  it('as JSON, filtered and limited', async () => {
    const filter = ['--task-queue', rig.taskQueue, '--json'];
    const all = jsonLines((await rig.run('list', ...filter, '--agent', AGENT, '--status', 'completed')).stdout);
    expect(all.map((run) => run['id'])).toEqual(expect.arrayContaining(['cli-paused', 'cli-spoken']));
    expect(jsonLines((await rig.run('list', ...filter, '--limit', '1')).stdout)).toHaveLength(1);
    expect((await rig.run('list', ...filter, '--agent', "no'body")).stdout).toBe('');
  });
});

describe('everlap doctor', () => {
  it('counts what it has found missing, not what it could not look at', async () => {
    const { code, stdout } = await rig.run('doctor', '--address', '127.0.0.1:1');
    expect(code).toBe(1);
    expect(stdout).toContain('Worker: not looked at: no server');
    expect(stdout).toContain('\n1 of these needs you.\n');
  });

  it('names all that is needed, and ends with 0 where it is there', async () => {
    const { code, stdout } = await rig.run('doctor');
    expect(stdout).toMatch(/✓ Config: .*everlap\.config\.ts, agents: tester/);
    expect(stdout).toContain(`✓ Worker: polls task queue "${rig.taskQueue}"`);
    expect(stdout).toMatch(/All that is needed is there\.\n$/);
    expect(code).toBe(0);
  });

  it('ends with 1 where something is missing, as JSON too', async () => {
    const { code, stdout } = await rig.run('doctor', '--task-queue', 'nobody-polls', '--json');
    const worker = jsonLines(stdout).find((check) => check['name'] === 'Worker');
    expect(worker).toMatchObject({ ok: false, fix: expect.stringContaining('everlap worker') as unknown });
    expect(code).toBe(1);
  });
});

describe('everlap setup', () => {
  it('says that all is there, where it is', async () => {
    const { code, stdout } = await rig.run('setup');
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: "The namespace default has all of Everlap's search attributes already.\n",
    });
    expect(jsonLines((await rig.run('setup', '--json')).stdout)).toEqual([{ namespace: 'default', added: [] }]);
  });
});
