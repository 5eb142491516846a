import { mkdir, writeFile as write } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { listFiles, searchFiles } from '../../src/tools/index.js';
import { callTool, testFolder } from './tool-context.js';

async function project(files: Record<string, string | Buffer>, base?: string): Promise<string> {
  const folder = base ?? (await testFolder());
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(folder, path, '..'), { recursive: true });
    await write(join(folder, path), content);
  }
  return folder;
}

const TYPICAL = {
  '.gitignore': 'node_modules/\n*.log\n/build\n',
  '.github/ci.yml': 'ci',
  '.git/config': 'needle',
  '.everlap/edit.json': 'needle',
  'src/.gitignore': 'gen/\n',
  'src/a.ts': 'needle',
  'src/gen/g.ts': 'needle',
  'src/deep/x.log': 'needle',
  'src/deep/build': 'not the root one',
  'src/deep/gen/h.ts': 'needle',
  'build/out.js': 'needle',
  'node_modules/p/i.js': 'needle',
};

describe('list_files', () => {
  test('is sorted, with hidden files, without ignored ones, .git and .everlap', async () => {
    const folder = await project(TYPICAL);
    expect(String(await callTool(listFiles(), {}, folder)).split('\n')).toEqual([
      '.github/ci.yml',
      '.gitignore',
      'src/.gitignore',
      'src/a.ts',
      'src/deep/build',
    ]);
  });

  test('keeps to the ignore files above a folder, and shows an ignored folder that is named', async () => {
    const folder = await project(TYPICAL);
    expect(await callTool(listFiles(), { path: 'src/deep' }, folder)).toBe('src/deep/build');
    expect(await callTool(listFiles(), { path: './src/' }, folder)).toBe('src/.gitignore\nsrc/a.ts\nsrc/deep/build');
    expect(await callTool(listFiles(), { path: 'node_modules/p' }, folder)).toBe('node_modules/p/i.js');
  });

  test('ignore files outside of the workspace do not count', async () => {
    const outer = await project({ '.gitignore': '*\n', '.ignore': '*\n' });
    const folder = await project({ 'a.txt': 'needle', 'sub/b.txt': 'needle' }, join(outer, 'ws'));
    expect(await callTool(listFiles(), {}, folder)).toBe('a.txt\nsub/b.txt');
    expect(await callTool(listFiles(), { path: 'sub' }, folder)).toBe('sub/b.txt');
    expect(await callTool(searchFiles(), { pattern: 'needle', path: 'sub' }, folder)).toBe('sub/b.txt\n  1:needle');
  });

  test('nothing there, a file, nothing of that name', async () => {
    const folder = await project({ 'a.txt': '' });
    await mkdir(join(folder, 'empty'));
    expect(await callTool(listFiles(), { path: 'empty' }, folder)).toContain('There are no files there');
    await expect(callTool(listFiles(), { path: 'a.txt' }, folder)).rejects.toThrow(
      '"a.txt" is a file, not a folder. read_file reads it.',
    );
    await expect(callTool(listFiles(), { path: 'b' }, folder)).rejects.toThrow(
      'There is no folder "b" in the workspace.',
    );
  });

  test('odd names stay one line each', async () => {
    const folder = await project({ 'two\nlines.txt': '', 'späce ü.txt': '', '-dash': '' });
    expect(String(await callTool(listFiles(), {}, folder)).split('\n')).toEqual([
      '-dash',
      'späce ü.txt',
      '"two\\nlines.txt"',
    ]);
  });

  test('too many files: folders are counted', async () => {
    const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, index) => [`a/sub/${index}.txt`, '']));
    const folder = await project({ ...many, 'b.txt': '', 'a/c.txt': '' });
    expect(await callTool(listFiles(), {}, folder)).toBe(
      'a/ (1002 files)\nb.txt\n[These are 1003 files, so folders are only counted. Name a folder as path, or use search_files.]',
    );
    expect(await callTool(listFiles(), { path: 'a' }, folder)).toMatch(/^a\/c\.txt\na\/sub\/ \(1001 files\)\n/);
    const flat = String(await callTool(listFiles(), { path: 'a/sub' }, folder));
    expect(flat.split('\n')).toHaveLength(1_001);
    expect(flat).toContain('1 entries are left out.');
  });
});

describe('search_files', () => {
  test('hits by file, with line numbers', async () => {
    const folder = await project({ 'b.txt': 'no\nthe needle\n', 'a/a.txt': 'needle 1\r\nx\nneedle 2' });
    expect(await callTool(searchFiles(), { pattern: 'needle' }, folder)).toBe(
      'a/a.txt\n  1:needle 1\n  3:needle 2\nb.txt\n  2:the needle',
    );
  });

  test('ignored files, .git and .everlap are left out', async () => {
    const folder = await project(TYPICAL);
    expect(await callTool(searchFiles(), { pattern: 'needle' }, folder)).toBe('src/a.ts\n  1:needle');
    expect(await callTool(searchFiles(), { pattern: 'needle', glob: '*' }, folder)).not.toMatch(/config|edit\.json/);
    expect(await callTool(searchFiles(), { pattern: 'needle', path: 'node_modules' }, folder)).toContain(
      'node_modules/p/i.js',
    );
  });

  test('one file', async () => {
    const folder = await project({ 'a.txt': 'x\nneedle\n', 'b.txt': 'needle' });
    expect(await callTool(searchFiles(), { pattern: 'needle', path: 'a.txt' }, folder)).toBe('a.txt\n  2:needle');
    expect(await callTool(searchFiles(), { pattern: 'nothing', path: 'a.txt' }, folder)).toBe('Nothing matches.');
  });

  test('case and glob', async () => {
    const folder = await project({ 'a.ts': 'Needle', 'a.md': 'Needle', 'sub/b.ts': 'Needle' });
    const found = async (args: object) =>
      String(await callTool(searchFiles(), args, folder))
        .split('\n')
        .filter((line) => !line.startsWith(' '));
    expect(await found({ pattern: 'needle' })).toEqual(['Nothing matches.']);
    expect(await found({ pattern: 'needle', ignore_case: true, glob: '*.ts' })).toEqual(['a.ts', 'sub/b.ts']);
    expect(await found({ pattern: 'Needle', glob: '!*.ts' })).toEqual(['a.md']);
    expect(await found({ pattern: 'Needle', glob: 'sub/**' })).toEqual(['sub/b.ts']);
  });

  test.each(['(', '[', 'a{2', '(?=x)', '\\1', 'a\nb', '\\p{Nope}', '(?:a{1000}){1000}{1000}'])(
    'a pattern that cannot be: %j',
    async (pattern) => {
      const folder = await project({ 'a.txt': 'a' });
      const attempt = callTool(searchFiles(), { pattern }, folder);
      await expect(attempt).rejects.toThrow(/^The search could not be made. ripgrep says: /);
      await expect(attempt).rejects.toMatchObject({ name: 'ToolError' });
      await expect(attempt).rejects.not.toThrow(folder);
    },
  );

  test('a glob that cannot be, a NUL', async () => {
    const folder = await project({ 'a.txt': 'a' });
    await expect(callTool(searchFiles(), { pattern: 'a', glob: '[' }, folder)).rejects.toThrow(/ripgrep says/);
    await expect(async () => callTool(searchFiles(), { pattern: 'a\0' }, folder)).rejects.toThrow(
      'The pattern contains a NUL',
    );
    await expect(async () => callTool(searchFiles(), { pattern: 'a', glob: '\0' }, folder)).rejects.toThrow(
      'The glob contains',
    );
  });

  test('many hits, long lines, binary files', async () => {
    const folder = await project({
      'many.txt': 'needle\n'.repeat(5_000),
      'long.txt': `${'ü'.repeat(5_000_000)}needle${'x'.repeat(5_000_000)}`,
      'binary.bin': Buffer.from('needle\n\0needle\n'),
    });
    const many = String(await callTool(searchFiles(), { pattern: 'needle', path: 'many.txt' }, folder)).split('\n');
    expect(many).toHaveLength(202);
    expect(many.at(-1)).toBe('[There are more; these are the first 200. Narrow the search by path, glob or pattern.]');
    const long = String(await callTool(searchFiles(), { pattern: 'needle', path: 'long.txt' }, folder));
    expect(long.length).toBeLessThan(500);
    expect(long).toContain('long.txt\n  1:üüü');
    expect(long).not.toContain('\ufffd');
    expect(await callTool(searchFiles(), { pattern: 'needle', path: 'binary.bin' }, folder)).not.toContain('\0');
  });

  test('exactly as many hits as are shown: none is said to be missing', async () => {
    const folder = await project({ 'a.txt': 'x\n'.repeat(200) });
    expect(await callTool(searchFiles(), { pattern: 'x' }, folder)).not.toContain('There are more');
  });

  test('settings of the worker’s user have no effect', async () => {
    const folder = await project({ 'a.txt': 'needle', config: '--files-with-matches\n' });
    process.env['RIPGREP_CONFIG_PATH'] = join(folder, 'config');
    try {
      expect(await callTool(searchFiles(), { pattern: 'needle' }, folder)).toBe('a.txt\n  1:needle');
    } finally {
      delete process.env['RIPGREP_CONFIG_PATH'];
    }
  });
});

test.each([listFiles, searchFiles])('an abort ends it with the reason it was given (%o)', async (tool) => {
  const folder = await project(
    Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`${n}.txt`, 'x'.repeat(10_000)])),
  );
  const reason = new Error('cancelled by the run');
  const before = new AbortController();
  before.abort(reason);
  await expect(callTool(tool(), { pattern: 'x' }, folder, { signal: before.signal })).rejects.toBe(reason);
  const during = new AbortController();
  const running = callTool(tool(), { pattern: 'x' }, folder, { signal: during.signal });
  setImmediate(() => during.abort(reason));
  // It may have been quicker than the abort.
  await running.catch((error: unknown) => expect(error).toBe(reason));
});
