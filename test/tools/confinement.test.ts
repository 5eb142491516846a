import { execFileSync } from 'node:child_process';
import {
  lstat,
  mkdir,
  readdir,
  readFile as read,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  writeFile as write,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { ToolDefinition } from '../../src/agents/define-tool.js';
import { ToolError } from '../../src/agents/tool-error.js';
import { editFile, fileTools, listFiles, readFile, searchFiles, writeFile } from '../../src/tools/index.js';
import { callTool, testFolder } from './tool-context.js';

const SECRET = 'do-not-tell';

/** `outside/secret.txt` beside the workspace `inside`, with links of every kind planted in it. */
async function trap() {
  const base = await testFolder();
  const inside = join(base, 'inside');
  const outside = join(base, 'outside');
  await mkdir(join(inside, 'dir', 'sub'), { recursive: true });
  await mkdir(outside);
  await write(join(outside, 'secret.txt'), SECRET);
  await write(join(inside, 'a.txt'), 'first\n');
  await write(join(inside, 'dir', 'b.txt'), 'second\n');
  await symlink(outside, join(inside, 'out'));
  await symlink('../../outside', join(inside, 'dir', 'out'));
  await symlink(join(outside, 'secret.txt'), join(inside, 'leak.txt'));
  await symlink(join(outside, 'not-yet.txt'), join(inside, 'dangling.txt'));
  await symlink(join(outside, 'not-yet'), join(inside, 'dangling'));
  await symlink('a.txt', join(inside, 'link.txt'));
  await symlink('dir', join(inside, 'linked'));
  await symlink('loop', join(inside, 'loop'));
  await symlink('..', join(inside, 'up'));
  await symlink('/', join(inside, 'dir', 'root'));
  return { base, inside, outside };
}

/** Everything under a folder: names, links, contents. */
async function snapshot(folder: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    found[path] = entry.isSymbolicLink()
      ? `-> ${await readlink(path)}`
      : entry.isFile()
        ? await read(path, 'utf8')
        : entry.isDirectory()
          ? 'folder'
          : 'other';
  }
  return found;
}

const uses: readonly [ToolDefinition, (path: string) => Record<string, unknown>][] = [
  [listFiles(), (path) => ({ path })],
  [readFile(), (path) => ({ path })],
  [writeFile(), (path) => ({ path, content: 'overwritten' })],
  [editFile(), (path) => ({ path, old_text: SECRET, new_text: 'overwritten' })],
  [searchFiles(), (path) => ({ path, pattern: SECRET })],
];

const refused: readonly [string, RegExp][] = [
  ['../outside/secret.txt', /contains "\.\."/],
  ['dir/../../outside/secret.txt', /contains "\.\."/],
  ['dir/../a.txt', /contains "\.\."/],
  ['..', /contains "\.\."/],
  ['/etc/passwd', /is absolute/],
  ['//etc/passwd', /is absolute/],
  ['C:/Windows/x', /is absolute/],
  ['c:x', /is absolute/],
  ['dir\\b.txt', /backslash/],
  ['..\\outside', /backslash/],
  ['a.txt\0', /NUL/],
  ['\ud800', /half of a character/],
  ['x'.repeat(256), /too long/],
  ['é'.repeat(128), /too long/],
  ['x/'.repeat(2_100) + 'y', /too long/],
  ['out/secret.txt', /goes through "out", which is a link, and links are not followed/],
  ['out', /is a link/],
  ['dir/out/secret.txt', /goes through "out"/],
  ['dir/root/etc/passwd', /goes through "root"/],
  ['up/outside/secret.txt', /goes through "up"/],
  ['leak.txt', /is a link/],
  ['dangling.txt', /is a link/],
  ['dangling/x.txt', /goes through "dangling"/],
  ['link.txt', /is a link/],
  ['linked/b.txt', /goes through "linked"/],
  ['loop', /is a link/],
  ['loop/x', /goes through "loop"/],
  ['a.txt/x', /goes through "a.txt", which is a file/],
];

describe('every tool refuses, with a sentence, and touches nothing', () => {
  test.each(refused)('%j', async (path, reason) => {
    const { base, inside } = await trap();
    const before = await snapshot(base);
    for (const [tool, args] of uses) {
      const refusal = await callTool(tool, args(path), inside).then(
        (result) => expect.fail(`${tool.name} answered ${String(result)}`),
        (error: unknown) => error,
      );
      expect(refusal, tool.name).toBeInstanceOf(ToolError);
      expect(String(refusal), tool.name).toMatch(reason);
      expect(String(refusal), tool.name).not.toContain(base);
    }
    expect(await snapshot(base)).toEqual(before);
  });

  test('pipes, sockets and devices, without waiting for them', async () => {
    const { inside } = await trap();
    execFileSync('mkfifo', [join(inside, 'pipe')]);
    const server = createServer().listen(join(inside, 'socket'));
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    for (const [tool, args] of uses) {
      for (const path of ['pipe', 'socket']) {
        await expect(callTool(tool, args(path), inside), tool.name).rejects.toThrow(/is a device, socket or pipe/);
      }
      await expect(callTool(tool, args('pipe/x'), inside), tool.name).rejects.toThrow(/device, socket or pipe/);
    }
    // Searching and listing around them does not wait either.
    expect(await callTool(searchFiles(), { pattern: 'first' }, inside)).toContain('a.txt');
    expect(await callTool(listFiles(), {}, inside)).toContain('dir/b.txt');
    expect((await lstat(join(inside, 'pipe'))).isFIFO()).toBe(true);
  });

  test.each(['', '.', './', 'dir', 'dir/', 'new/', './.'])('a folder where a file is needed: %j', async (path) => {
    const { base, inside } = await trap();
    const before = await snapshot(base);
    for (const tool of [uses[1]!, uses[2]!, uses[3]!]) {
      await expect(callTool(tool[0], tool[1](path), inside)).rejects.toThrow(/folder/);
    }
    expect(await snapshot(base)).toEqual(before);
  });

  test.each(['.git/hooks/pre-commit', 'sub/.git/config', '.GIT/config', '.git', '.everlap/edit.json'])(
    'writing to %j',
    async (path) => {
      const { inside } = await trap();
      await mkdir(join(inside, '.git'));
      await expect(callTool(writeFile(), { path, content: 'x' }, inside)).rejects.toThrow(/may not be written/);
      await expect(callTool(editFile(), { path, old_text: 'a', new_text: 'x' }, inside)).rejects.toThrow(/may not be/);
    },
  );
});

test('nothing of the outside is listed or found through links', async () => {
  const { inside } = await trap();
  expect(await callTool(listFiles(), {}, inside)).toBe('a.txt\ndir/b.txt');
  expect(await callTool(searchFiles(), { pattern: SECRET }, inside)).toBe('Nothing matches.');
  expect(await callTool(searchFiles(), { pattern: SECRET, glob: '**' }, inside)).toBe('Nothing matches.');
  expect(await callTool(searchFiles(), { pattern: SECRET, glob: '../outside/*' }, inside)).toBe('Nothing matches.');
});

test('arguments are never taken for options of ripgrep', async () => {
  const { base, inside } = await trap();
  await write(join(inside, '--follow'), '--follow here\n');
  expect(await callTool(searchFiles(), { pattern: '--follow' }, inside)).toBe('--follow\n  1:--follow here');
  expect(await callTool(searchFiles(), { pattern: '--follow', path: '--follow' }, inside)).toBe(
    '--follow\n  1:--follow here',
  );
  expect(await callTool(searchFiles(), { pattern: `--pre=touch ${base}/x` }, inside)).toBe('Nothing matches.');
  expect(await callTool(searchFiles(), { pattern: SECRET, glob: '--follow' }, inside)).toBe('Nothing matches.');
  await expect(stat(join(base, 'x'))).rejects.toThrow('ENOENT');
});

test('no path that can be made up leads out of the workspace', async () => {
  const { base, inside, outside } = await trap();
  const before = await snapshot(outside);
  const name = fc.oneof(
    fc.constantFrom(
      '..',
      '.',
      '',
      'out',
      'dir',
      'sub',
      'up',
      'root',
      'linked',
      'loop',
      'dangling',
      'leak.txt',
      'dangling.txt',
      'link.txt',
    ),
    fc.constantFrom(
      'outside',
      'inside',
      'secret.txt',
      'a.txt',
      'b.txt',
      'new',
      '~',
      '-x',
      '\\',
      'a\0',
      '…',
      '%2e%2e',
      '..;',
      '...',
      ' ',
    ),
    fc.string({ maxLength: 5 }),
  );
  const path = fc
    .tuple(
      fc.constantFrom('', '/', './', '../', `${outside}/`, 'file://', 'out/', '~/'),
      fc.array(name, { maxLength: 5 }),
    )
    .map(([start, names]) => start + names.join('/'));
  await fc.assert(
    fc.asyncProperty(path, fc.nat(4), async (made, index) => {
      const [tool, args] = uses[index]!;
      let answer: string;
      try {
        answer = String(await callTool(tool, args(made), inside));
      } catch (error) {
        expect(error, made).toBeInstanceOf(ToolError);
        answer = (error as ToolError).message;
        expect(answer.replaceAll(JSON.stringify(made).slice(1, -1), '')).not.toContain(base);
      }
      expect(answer).not.toContain(`${SECRET}`);
      expect(answer).not.toContain('root:');
    }),
    { numRuns: 400 },
  );
  expect(await snapshot(outside)).toEqual(before);
  expect((await readdir(base)).sort()).toEqual(['inside', 'outside']);
}, 120_000);

test('the folder may be given, relative to the working directory; the workspace itself may be a link', async () => {
  const { base, inside } = await trap();
  await symlink(inside, join(base, 'entry'));
  for (const tool of fileTools({ folder: join(base, 'entry') })) {
    if (tool.name !== 'list_files') continue;
    expect(await callTool(tool, { path: 'dir' }, '/nonexistent')).toBe('dir/b.txt');
  }
  const relative = readFile({ folder: 'src/tools' });
  expect(await callTool(relative, { path: 'index.ts', lines: 1 }, base)).toContain('everlap/tools');
  await expect(callTool(readFile({ folder: 'no-such' }), { path: 'a' }, base)).rejects.toThrow(
    'The workspace folder cannot be opened on this worker: ENOENT: no such file or directory.',
  );
});

test.runIf(process.platform === 'linux')(
  'a folder swapped for a link while tools work is not followed',
  async () => {
    const { inside, outside } = await trap();
    const before = await snapshot(outside);
    const [folder, folderAway, linkAway] = ['dir', 'dir.away', 'link.away'].map((name) => join(inside, name)) as [
      string,
      string,
      string,
    ];
    let swapping = true;
    let swaps = 0;
    const swap = async () => {
      await rename(folder, folderAway);
      await symlink(outside, folder);
      swaps += 1;
      await rename(folder, linkAway);
      await rename(folderAway, folder);
    };
    const swapper = (async () => {
      // A write may make the folder in the moment when it is away: start over then.
      while (swapping) await swap().catch(() => rm(folderAway, { recursive: true, force: true }));
    })();
    for (let round = 0; round < 150; round += 1) {
      const results = await Promise.allSettled([
        callTool(readFile(), { path: 'dir/secret.txt' }, inside),
        callTool(writeFile(), { path: 'dir/secret.txt', content: 'mine' }, inside),
        callTool(writeFile(), { path: `dir/new${round}/x.txt`, content: 'mine' }, inside),
      ]);
      for (const result of results) if (result.status === 'fulfilled') expect(result.value).not.toBe(SECRET);
    }
    swapping = false;
    await swapper;
    expect(swaps).toBeGreaterThan(0);
    expect(await snapshot(outside)).toEqual(before);
  },
  60_000,
);
