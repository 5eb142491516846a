import { readdir, readFile as read } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { runProcess } from '../../src/tools/run-process.js';
import { CommandOutput } from '../../src/tools/command-output.js';
import { runCommand, type RunCommandOptions } from '../../src/tools/index.js';
import { callTool, testFolder } from './tool-context.js';

const run = async (command: string, options: RunCommandOptions = {}, more: object = {}, signal?: AbortSignal) => {
  const folder = await testFolder();
  return String(await callTool(runCommand(options), { command, ...more }, folder, signal && { signal }));
};

/** Processes that still run (no zombies) in a process group. Linux only. */
async function alive(group: string): Promise<string[]> {
  const found: string[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const status = await read(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    const [state, , pgrp] = status.slice(status.lastIndexOf(')') + 2).split(' ');
    if (pgrp === group && state !== 'Z' && state !== 'X') found.push(pid);
  }
  return found;
}

const noneAlive = (group: string) => expect.poll(() => alive(group), { timeout: 10_000 }).toEqual([]);

/** The process group is the shell's own id, which it prints first. */
const groupOf = (text: string) => /^\d+/.exec(text)![0];

test('its policies: once, one at a time, a person decides', () => {
  const tool = runCommand();
  expect([tool.name, tool.effects, tool.concurrency, tool.approval]).toEqual([
    'run_command',
    'once',
    'serial',
    'always',
  ]);
  expect(runCommand({ approval: 'never', timeout: '1 hour' })).toMatchObject({
    approval: 'never',
    timeoutMs: 3_615_000,
  });
});

test('output of both kinds, exit code, workspace as folder, no input', async () => {
  const folder = await testFolder();
  const command = 'pwd; echo out; echo err >&2; cat; exit 3';
  expect(await callTool(runCommand(), { command }, folder)).toBe(`${folder}\nout\nerr\n[Exit code 3.]`);
  expect(await run('true')).toBe('[No output. Exit code 0.]');
  expect(await run('kill -SEGV $$')).toBe('[No output. It was ended by SIGSEGV.]');
  expect(await run('no-such-command-here')).toContain('[Exit code 127.]');
});

test('colours are taken out, broken characters do no harm', async () => {
  expect(await run(String.raw`printf '\033[31mred\033[0m \377 ü'`)).toBe('red \ufffd ü\n[Exit code 0.]');
});

test('the environment is a chosen one', async () => {
  process.env['EVERLAP_TEST_SECRET'] = 'do-not-tell';
  process.env['EVERLAP_TEST_NAMED'] = 'named';
  try {
    const text = await run('env', { environment: ['EVERLAP_TEST_NAMED', 'EVERLAP_TEST_MISSING'] });
    expect(text).not.toContain('do-not-tell');
    expect(text).toContain('EVERLAP_TEST_NAMED=named');
    expect(text).not.toContain('EVERLAP_TEST_MISSING');
    expect(text).toContain('PATH=');
  } finally {
    delete process.env['EVERLAP_TEST_SECRET'];
    delete process.env['EVERLAP_TEST_NAMED'];
  }
});

test('endless output is bounded, head and tail are kept', async () => {
  const text = await run('echo begin; head -c 300000000 /dev/zero | tr "\\0" x; echo end');
  expect(text.length).toBeLessThan(31_000);
  expect(text).toMatch(/^begin\nx+\n\[… \d+ characters left out …\]\nx+end\n\[Exit code 0\.\]$/);
}, 60_000);

test.each([
  ['NUL', 'echo \0'],
  ['too long', `: ${'x'.repeat(300_000)}`],
])('a command that no shell takes: %s', async (_, command) => {
  await expect(run(command)).rejects.toMatchObject({ name: 'ToolError' });
});

test.runIf(process.platform === 'linux')('its time limit ends all that it started', async () => {
  const text = await run('echo $$; (sleep 600 & sleep 600) & sleep 600', {}, { timeout_seconds: 0.3 });
  expect(text).toContain('[It was ended after 0.3 seconds, its time limit.]');
  await noneAlive(groupOf(text));
});

test.runIf(process.platform === 'linux')(
  'one that refuses to end is ended',
  async () => {
    const text = await run('trap "" TERM; echo $$; while :; do sleep 0.1; done', {}, { timeout_seconds: 0.3 });
    expect(text).toContain('its time limit');
    await noneAlive(groupOf(text));
  },
  20_000,
);

test.runIf(process.platform === 'linux')(
  'what it leaves in the background ends with it, and is not waited for',
  async () => {
    const text = await run('echo $$; sleep 600 & echo done');
    expect(text).toMatch(/^\d+\ndone\n\[Exit code 0\.\]$/);
    await noneAlive(groupOf(text));
  },
);

test.runIf(process.platform === 'linux')(
  'a fork bomb is ended whole',
  async () => {
    // Doubles every 0.1 seconds.
    const text = await run('echo $$; bomb() { sleep 0.1; bomb & bomb & wait; }; bomb', {}, { timeout_seconds: 0.8 });
    expect(text).toContain('its time limit');
    await noneAlive(groupOf(text));
  },
  30_000,
);

test.runIf(process.platform === 'linux')(
  'what has too many processes is ended long before its time is up',
  async () => {
    const end = await runProcess({
      // A bomb that a busy machine can live with.
      command: 'echo $$; while :; do sleep 600 & sleep 0.02; done',
      cwd: await testFolder(),
      env: { PATH: process.env['PATH'] ?? '' },
      timeoutMs: 600_000,
      maxChars: 1000,
      maxProcesses: 40,
      signal: new AbortController().signal,
    });
    expect(end).toMatchObject({ ended: 'processes', signalName: 'SIGKILL' });
    await noneAlive(groupOf(end.output));
  },
  60_000,
);

test.runIf(process.platform === 'linux')(
  'a process outside of the group that holds the output open is not waited for',
  async () => {
    const text = await run('setsid sh -c "echo \\$\\$; sleep 5" & sleep 0.3; echo done');
    expect(text).toContain('done\n[Exit code 0.]');
    const escaped = Number(groupOf(text));
    afterAll(() => {
      try {
        process.kill(-escaped, 'SIGKILL');
      } catch {
        // It has ended by itself.
      }
    });
  },
);

test.runIf(process.platform === 'linux')(
  'an abort ends it, with the reason it was given',
  async () => {
    const folder = await testFolder();
    const abort = new AbortController();
    const reason = new Error('cancelled by the run');
    const command = 'echo $$ > pid; sleep 600 & sleep 600';
    const running = callTool(runCommand(), { command }, folder, { signal: abort.signal });
    const started = () => read(join(folder, 'pid'), 'utf8').catch(() => '');
    await expect.poll(started, { timeout: 10_000 }).toMatch(/\d+\n/);
    const group = (await started()).trim();
    abort.abort(reason);
    await expect(running).rejects.toBe(reason);
    await noneAlive(group);
    await expect(run('echo never', {}, {}, AbortSignal.abort(reason))).rejects.toBe(reason);
  },
  20_000,
);

test('output kept: the beginning and the end, and what is missing is counted', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: fc.constantFrom('a', 'b', '😀'), maxLength: 12 })),
      fc.integer({ min: 2, max: 20 }),
      (pieces, max) => {
        const output = new CommandOutput(max);
        for (const piece of pieces) output.add(piece);
        const whole = pieces.join('');
        const text = output.text();
        if (whole.length <= max) expect(text).toBe(whole);
        const [, head = '', missing, tail = ''] = /^(.*)\n\[… (\d+) characters left out …\]\n(.*)$/s.exec(text) ?? [
          undefined,
          text,
          '0',
          '',
        ];
        expect(whole.startsWith(head) && whole.endsWith(tail) && !/\p{Cs}/u.test(text)).toBe(true);
        expect(head.length + Number(missing) + tail.length).toBe(whole.length);
        expect(head.length + tail.length).toBeLessThanOrEqual(2 * max);
      },
    ),
  );
});
