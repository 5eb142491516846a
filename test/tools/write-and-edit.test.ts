import { chmod, mkdir, readFile as read, readdir, stat, writeFile as write } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ToolError } from '../../src/agents/tool-error.js';
import { editFile, writeFile } from '../../src/tools/index.js';
import { replaceText } from '../../src/tools/replace-text.js';
import { temporaryNames } from '../../src/tools/write-file.js';
import { callTool, testFolder, toolContext } from './tool-context.js';

const content = (folder: string) => read(join(folder, 'a.txt'), 'utf8');

/** A workspace with one file, `a.txt`. */
async function workspaceWith(text: string): Promise<string> {
  const folder = await testFolder();
  await write(join(folder, 'a.txt'), text);
  return folder;
}

describe('write_file', () => {
  test('makes folders and files, replaces files, says how many bytes', async () => {
    const folder = await testFolder();
    expect(await callTool(writeFile(), { path: 'x/y/a.txt', content: 'hä\n' }, folder)).toBe(
      'Wrote 4 bytes to "x/y/a.txt".',
    );
    expect(await callTool(writeFile(), { path: './x//y/a.txt', content: '' }, folder)).toBe(
      'Wrote 0 bytes to "./x//y/a.txt".',
    );
    expect(await read(join(folder, 'x/y/a.txt'), 'utf8')).toBe('');
    expect(await readdir(join(folder, 'x/y'))).toEqual(['a.txt']);
  });

  test('keeps the mode of a file that it replaces', async () => {
    const folder = await workspaceWith('old');
    await chmod(join(folder, 'a.txt'), 0o755);
    await callTool(writeFile(), { path: 'a.txt', content: 'new' }, folder);
    expect((await stat(join(folder, 'a.txt'))).mode & 0o777).toBe(0o755);
  });

  test('half of a character is written as a replacement character', async () => {
    const folder = await testFolder();
    await callTool(writeFile(), { path: 'a.txt', content: '\ud83d!' }, folder);
    expect(await content(folder)).toBe('\ufffd!');
  });

  test('a folder of that name', async () => {
    const folder = await testFolder();
    await mkdir(join(folder, 'a.txt'));
    await expect(callTool(writeFile(), { path: 'a.txt', content: 'x' }, folder)).rejects.toThrow(
      '"a.txt" is a folder, not a file.',
    );
  });

  test('an aborted write leaves the old file and nothing else', async () => {
    const folder = await workspaceWith('old');
    const reason = new Error('cancelled');
    const aborted = { signal: AbortSignal.abort(reason) };
    await expect(callTool(writeFile(), { path: 'a.txt', content: 'new' }, folder, aborted)).rejects.toBe(reason);
    await expect(
      callTool(editFile(), { path: 'a.txt', old_text: 'old', new_text: 'new' }, folder, aborted),
    ).rejects.toBe(reason);
    expect(await content(folder)).toBe('old');
    expect((await readdir(folder)).filter((name) => name !== '.everlap')).toEqual(['a.txt']);
  });

  test('a later attempt removes what an earlier one left', async () => {
    const folder = await testFolder();
    const context = toolContext(folder);
    await write(join(folder, temporaryNames(context).name), 'half of the te');
    await callTool(writeFile(), { path: 'a.txt', content: 'the text' }, folder, { ...context, attempt: 3 });
    expect(await readdir(folder)).toEqual(['a.txt']);
  });

  test('readers see the old text or the new one, never a part', async () => {
    const texts = ['a'.repeat(300_000), 'b'.repeat(500_000)];
    const folder = await workspaceWith(texts[0]!);
    let writing = true;
    const reader = (async () => {
      while (writing) expect(texts.includes(await content(folder))).toBe(true);
    })();
    for (let round = 0; round < 30; round += 1) {
      await callTool(writeFile(), { path: 'a.txt', content: texts[round % 2]! }, folder);
    }
    writing = false;
    await reader;
  });
});

describe('edit_file', () => {
  test('replaces one text', async () => {
    const folder = await workspaceWith('one\ntwo\nthree\n');
    expect(await callTool(editFile(), { path: 'a.txt', old_text: 'two', new_text: '$& $1 2' }, folder)).toBe(
      'Replaced 1 occurrence (line 2) in "a.txt".',
    );
    expect(await content(folder)).toBe('one\n$& $1 2\nthree\n');
  });

  test('replaces all', async () => {
    const folder = await workspaceWith('x\nx x\n');
    expect(await callTool(editFile(), { path: 'a.txt', old_text: 'x', new_text: '', all: true }, folder)).toBe(
      'Replaced 3 occurrences (lines 1, 2, 2) in "a.txt".',
    );
    expect(await content(folder)).toBe('\n \n');
  });

  test.each([
    ['gone', 'new', /does not occur in "a\.txt"\. It must be exactly/],
    ['x', 'new', /occurs more than once in "a\.txt" \(lines 1, 2\)\. Take more/],
    ['oo', 'new', /occurs more than once in "a\.txt" \(lines 3, 3\)/],
    ['', 'new', /old_text is empty/],
    ['x y', 'x y', /the same/],
  ])('refuses %j', async (oldText, newText, reason) => {
    const folder = await workspaceWith('x y\nx z\nooo\n');
    const attempt = callTool(editFile(), { path: 'a.txt', old_text: oldText, new_text: newText }, folder);
    await expect(attempt).rejects.toThrow(reason);
    await expect(attempt).rejects.toBeInstanceOf(ToolError);
    expect(await content(folder)).toBe('x y\nx z\nooo\n');
  });

  test('keeps a mark in front and Windows line ends', async () => {
    const folder = await workspaceWith('\ufeffone\r\ntwo\r\nthree\r\n');
    await callTool(editFile(), { path: 'a.txt', old_text: 'one\ntwo\n', new_text: '1\n2\n2b\n' }, folder);
    expect(await content(folder)).toBe('\ufeff1\r\n2\r\n2b\r\nthree\r\n');
  });

  test('binary and very large files are refused', async () => {
    const folder = await workspaceWith('a\0b');
    const edit = { path: 'a.txt', old_text: 'a', new_text: 'c' };
    await expect(callTool(editFile(), edit, folder)).rejects.toThrow('is not a text file in UTF-8');
    await write(join(folder, 'a.txt'), Buffer.alloc(21 * 1024 * 1024, 'a'));
    await expect(callTool(editFile(), edit, folder)).rejects.toThrow('edit_file takes files of 20971520 at most');
  });

  describe('run again with the same key', () => {
    const growing = { path: 'a.txt', old_text: 'a', new_text: 'aa' };
    const key = { idempotencyKey: 'run/1/7/0/abc' };

    test('changes the file once, and answers the same', async () => {
      const folder = await workspaceWith('a\n');
      const first = await callTool(editFile(), growing, folder, key);
      expect(await callTool(editFile(), { ...growing }, folder, { ...key, attempt: 2 })).toBe(first);
      expect(await content(folder)).toBe('aa\n');
    });

    test('while another key changes it again', async () => {
      const folder = await workspaceWith('a\n');
      await callTool(editFile(), { ...growing, all: true }, folder, key);
      await callTool(editFile(), { ...growing, all: true }, folder);
      expect(await content(folder)).toBe('aaaa\n');
    });

    test('makes the edit where the worker was lost between the note and the change', async () => {
      const folder = await workspaceWith('a\n');
      await callTool(editFile(), growing, folder, key);
      await write(join(folder, 'a.txt'), 'a\n');
      await callTool(editFile(), growing, folder, { ...key, attempt: 2 });
      expect(await content(folder)).toBe('aa\n');
    });

    test('says that it does not know where the file has changed since', async () => {
      const folder = await workspaceWith('a\n');
      await callTool(editFile(), growing, folder, key);
      await write(join(folder, 'a.txt'), 'someone else: a\n');
      await expect(callTool(editFile(), growing, folder, { ...key, attempt: 2 })).rejects.toThrow(
        'It is not known whether',
      );
      expect(await content(folder)).toBe('someone else: a\n');
    });

    test('a damaged note, and one of another run, count for nothing', async () => {
      const folder = await workspaceWith('a\n');
      const context = toolContext(folder, key);
      const other = { ...context, call: { ...context.call, runId: 'other' } };
      await callTool(editFile(), { path: 'a.txt', old_text: 'a', new_text: 'b' }, folder, other);
      await callTool(editFile(), { path: 'a.txt', old_text: 'b', new_text: 'a' }, folder, key);
      const notes = await readdir(join(folder, '.everlap'));
      expect(notes).toHaveLength(2);
      for (const note of notes) await write(join(folder, '.everlap', note), '{"key": "run/1/');
      await callTool(editFile(), { path: 'a.txt', old_text: 'a', new_text: 'c' }, folder, key);
      expect(await content(folder)).toBe('c\n');
    });
  });
});

test('replaceText changes what it says, and nothing else', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', '\n', '$'), maxLength: 4 });
  fc.assert(
    fc.property(
      fc.array(word).map((words) => words.join('')),
      word,
      word,
      fc.boolean(),
      (text, oldText, newText, all) => {
        let edited: string;
        try {
          edited = replaceText('"f"', text, oldText, newText, all).text;
        } catch (error) {
          expect(error).toBeInstanceOf(ToolError);
          const again = text.indexOf(oldText, text.indexOf(oldText) + 1) !== -1;
          expect(oldText === '' || oldText === newText || !text.includes(oldText) || (again && !all)).toBe(true);
          return;
        }
        if (all) {
          expect(edited).toBe(text.replaceAll(oldText, () => newText));
          return;
        }
        const at = text.indexOf(oldText);
        expect(edited).toBe(text.slice(0, at) + newText + text.slice(at + oldText.length));
        expect(text.indexOf(oldText, at + 1)).toBe(-1);
      },
    ),
  );
});
