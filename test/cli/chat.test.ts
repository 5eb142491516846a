/** `everlap chat`, and what `run` asks at a terminal, as processes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { call, text, type RecordedRequest, type Step } from 'everlap/testing';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { eventually } from '../support/rig.js';
import { startCliRig, type CliRig, type Finished } from './support.js';

vi.setConfig({ testTimeout: 120_000 });
const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const TERMINAL = fileURLToPath(new URL('./terminal.py', import.meta.url));

/** Longer than what is shown of arguments; the end is what counts. */
const BIG = `${'and so on, '.repeat(80)}to nobody`;

let rig: CliRig;

const said = ({ messages }: RecordedRequest): string[] =>
  messages.filter(({ role }) => role === 'user').map(({ content }) => String(content));

/** Answers what it heard; pays and asks when told to. */
function play(request: RecordedRequest): Step {
  const heard = said(request);
  const newest = heard.at(-1) ?? '';
  const last = request.messages.at(-1);
  if (last?.role === 'tool') return text(`Result: ${String(last.content)}`);
  if (newest.startsWith('pay big')) return call('pay', { usd: 5, why: BIG });
  if (newest.startsWith('pay')) return call('pay', { usd: 5 });
  if (newest.startsWith('ask')) return call('ask_human', { question: 'Which one?', options: ['red', 'blue'] });
  return text(`Heard ${heard.length}: ${newest}`);
}

const CONFIG = (
  taskQueue: string,
): string => `import { askHuman, defineAgent, defineConfig, defineTool } from 'everlap';
const pay = defineTool({ name: 'pay', description: 'Pays.', parameters: { type: 'object', properties: { usd: { type: 'number' }, why: { type: 'string' } } }, approval: 'always', execute: ({ usd }) => 'paid ' + usd });
const fields = { instructions: 'Talk.', model: 'scripted', tools: [pay, askHuman()] };
export default defineConfig({
  taskQueue: '${taskQueue}',
  agents: [defineAgent({ ...fields, name: 'desk', session: { idleTimeout: '10 minutes' } }), defineAgent({ ...fields, name: 'plain' })],
});
`;

beforeAll(async () => {
  rig = await startCliRig(play);
  await writeFile(join(rig.folder, 'everlap.config.ts'), CONFIG(rig.taskQueue));
  await rig.startWorker();
});
afterAll(() => rig.stop());

function start(command: string, args: readonly string[]): ReturnType<typeof spawn> {
  return spawn(command, args, {
    cwd: rig.folder,
    env: { ...process.env, TEMPORAL_ADDRESS: rig.address, ...rig.model.env, TERM: 'xterm', NO_COLOR: '1' },
  });
}

/** The command with these lines on its standard input. */
async function piped(lines: string, ...args: string[]): Promise<Finished> {
  const child = start(process.execPath, [MAIN, ...args]);
  let [stdout, stderr] = ['', ''];
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  child.stdin?.end(lines);
  await once(child, 'close');
  return { code: child.exitCode, stdout, stderr };
}

/** The command at a terminal: each text is typed when what is waited for has been shown. */
async function typed(
  args: readonly string[],
  dialogue: readonly (readonly [shown: RegExp, typed: string])[],
): Promise<Finished> {
  const child = start('python3', [TERMINAL, process.execPath, MAIN, ...args]);
  let stdout = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  const closed = once(child, 'close');
  let from = 0;
  for (const [shown, keys] of dialogue) {
    for (;;) {
      const match = shown.exec(stdout.slice(from));
      if (match) {
        from += match.index + match[0].length;
        break;
      }
      if (child.exitCode !== null) throw new Error(`Ended without ${shown}:\n${stdout}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    child.stdin?.write(keys);
  }
  await closed;
  return { code: child.exitCode, stdout, stderr: '' };
}

describe('everlap chat', () => {
  it('takes lines from a pipe, leaves the conversation open, and goes on with it under its id', async () => {
    const first = await piped('one\n\ntwo\n', 'chat', 'desk', '--id', 'talk-1');
    expect(first).toMatchObject({ code: 0 });
    expect(first.stdout).toMatch(/Heard 1: one\n(.*\n)*.*Heard 2: two\n/);
    expect(first.stderr).toContain('everlap chat desk --id talk-1');
    const second = await piped('three\n/end\n', 'chat', 'desk', '--id', 'talk-1');
    expect(second.stdout).toMatch(
      /you> one\nHeard 1: one\nyou> two\nHeard 2: two\n(.*\n)*Heard 3: three\nThe conversation has ended\.\n/,
    );
    // It has ended: the same id begins anew, and nothing of the old one is shown as an answer.
    const third = await piped('four\n/end\n', 'chat', 'desk', '--id', 'talk-1');
    expect(third.stdout).toMatch(
      /Heard 3: three\nThat conversation has ended \(stopped, force finished: ended in the chat\)\. .* new one.*\nHeard 1: four\nThe conversation has ended\.\n$/,
    );
    expect(third.stdout.match(/Heard 3/g)).toHaveLength(1);
  });

  it('says that a conversation has ended meanwhile, before the next message begins a new one', async () => {
    const settings = ['--settings', '{"session":{"idleTimeout":"2 seconds"}}'];
    const ended = async (): Promise<void> => {
      await eventually(async () => /completed/.test((await rig.run('state', 'talk-2')).stdout), 'its idle end', 60_000);
    };
    const chat = start(process.execPath, [MAIN, 'chat', 'desk', '--id', 'talk-2', ...settings]);
    let stdout = '';
    chat.stdout?.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
    const closed = once(chat, 'close');
    chat.stdin?.write('one\n');
    await eventually(async () => stdout.includes('Heard 1: one'), 'its answer', 60_000);
    await ended();
    chat.stdin?.write('two\n');
    await eventually(async () => stdout.includes('Heard 1: two'), 'the next answer', 60_000);
    expect(stdout).toMatch(/Heard 1: one\nThat conversation has ended \(nobody .*\)\. .* new one.*\nHeard 1: two/);
    await ended();
    chat.stdin?.write('/end\n');
    await closed;
    expect(stdout).toMatch(/Heard 1: two\nThe conversation has ended already\.\n$/);
    expect(chat.exitCode).toBe(0);
    // Whoever opens it again sees it all, and that it is over; one that has ended does not stay open.
    const again = await piped('', 'chat', 'desk', '--id', 'talk-2', ...settings);
    expect(again.stdout).toMatch(/you> two\nHeard 1: two\nThat conversation has ended \(nobody .*\)\. .*\n$/);
    expect(again.stderr).not.toContain('stays open');
  });

  it('says through a pipe what waits, and what decides it', async () => {
    const chat = start(process.execPath, [MAIN, 'chat', 'desk', '--id', 'talk-pipe']);
    let stdout = '';
    chat.stdout?.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
    const closed = once(chat, 'close');
    chat.stdin?.end('pay now\n');
    const told = /Approve pay \{"usd":5\}\?\n {2}everlap approve talk-pipe (\S+)\n/;
    await eventually(async () => told.test(stdout), 'what waits to be told', 60_000);
    const callId = told.exec(stdout)?.[1] ?? '';
    const watching = rig.start(['watch', 'talk-pipe']);
    await watching.waitFor(told);
    await watching.end();
    expect((await rig.run('approve', 'talk-pipe', callId)).code).toBe(0);
    await closed;
    expect(stdout).toContain('Result: paid 5\n');
  });

  it('does not go on with a conversation of another agent without a word', async () => {
    expect((await piped('one\n', 'chat', 'desk', '--id', 'talk-3')).code).toBe(0);
    expect(await piped('two\n', 'chat', 'plain', '--id', 'talk-3')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^everlap: The conversation talk-3 is with the agent desk, not with plain; /,
      ) as unknown,
    });
    // It has ended: what comes is a new one, and anybody's.
    expect((await piped('/end\n', 'chat', 'desk', '--id', 'talk-3')).code).toBe(0);
    const other = await piped('three\n/end\n', 'chat', 'plain', '--id', 'talk-3');
    expect(other).toMatchObject({ code: 0, stdout: expect.stringContaining('Heard 1: three') as unknown });
  });

  it('talks with an agent that has no session of its own', async () => {
    const { code, stdout } = await piped('one\ntwo\n/end\n', 'chat', 'plain');
    expect(code).toBe(0);
    expect(stdout).toContain('Heard 2: two');
  });

  it('says what is wrong: no such agent, an empty id', async () => {
    expect(await piped('', 'chat', 'nobody')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('it has: desk, plain'),
    });
    expect(await piped('', 'chat', 'desk', '--id', ' ')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('--id is empty'),
    });
  });

  it('asks for approvals and answers at the terminal', async () => {
    const { code, stdout } = await typed(
      ['chat', 'desk'],
      [
        [/you> /, 'pay now\r'],
        [/Approve pay \{"usd":5\}\?[^]*> /, 'y\r'],
        [/Result: paid 5[^]*you> /, 'ask me\r'],
        [/Which one\?[^]*1: red[^]*2: blue[^]*> /, '2\r'],
        [/Result: blue[^]*you> /, '/end\r'],
      ],
    );
    expect(stdout).toContain('The conversation has ended.');
    expect(code).toBe(0);
  });
});

describe('everlap run at a terminal', () => {
  it('asks for what waits; words that are no answer are the reason of a refusal', async () => {
    const { code, stdout } = await typed(['run', 'plain', 'pay'], [[/Approve pay[^]*> /, 'too much\r']]);
    expect(stdout).toMatch(/Result: .*too much/);
    expect(code).toBe(0);
  });

  it('takes the question back where somebody else decides', async () => {
    const decided = typed(['run', 'plain', 'pay', '--id', 'elsewhere'], [[/Approve pay[^]*> /, '']]);
    await vi.waitUntil(async () => (await rig.run('pending')).stdout.includes('elsewhere'), { timeout: 60_000 });
    const [, callId = ''] = /elsewhere {2}(\S+)/.exec((await rig.run('pending')).stdout) ?? [];
    await rig.run('approve', 'elsewhere', callId);
    const { code, stdout } = await decided;
    expect(stdout).toMatch(/does not wait any more|Result: paid 5/);
    expect(code).toBe(0);
  });

  it('says where arguments are whole that are too long to be shown', async () => {
    const decided = typed(
      ['run', 'plain', 'pay big', '--id', 'big', '--address', rig.address],
      [[/Approve pay [^]*It is cut here; whole, in another terminal: everlap messages big --address \S+/, '']],
    );
    const callId = await eventually(
      async () => /^big {2}(\S+) {2}approval: pay .*…$/m.exec((await rig.run('pending')).stdout)?.[1],
      'its call',
      60_000,
    );
    expect((await rig.run('messages', 'big', '--address', rig.address)).stdout).toContain(BIG);
    const state = await rig.run('state', 'big');
    expect(state.stdout).toMatch(new RegExp(`waits for +${callId} {2}approval: pay .*…\n`));
    await rig.run('approve', 'big', callId);
    const { code, stdout } = await decided;
    expect(stdout).toMatch(/does not wait any more|Result: paid 5/);
    expect(code).toBe(0);
  });
});
