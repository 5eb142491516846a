/** `list_files`: what is in the workspace. */
import { z } from 'zod';
import { defineTool, type ToolDefinition } from '../agents/define-tool.js';
import { ToolError } from '../agents/tool-error.js';
import { checkFileOptions, inWorkspace, PATH_HELP, type FileToolOptions } from './file-tool-options.js';
import { runRipgrep } from './ripgrep.js';
import { shownPath } from './workspace-path.js';

const MAX_SHOWN = 1_000;
const MAX_COUNTED = 200_000;

/** One path a line, sorted. Where there are too many, folders are named with how many files they hold. */
export function listFiles(options: FileToolOptions = {}): ToolDefinition {
  checkFileOptions('list_files', options);
  return defineTool({
    name: 'list_files',
    description:
      'List the files of the workspace, folders below included, one path a line. Files that .gitignore names are left out, unless path names their folder.',
    input: z.object({ path: z.string().optional().describe(`A folder. ${PATH_HELP} Default: the whole workspace.`) }),
    effects: 'none',
    timeout: '1 minute',
    execute: ({ path = '' }, context) =>
      inWorkspace(options, context, async (workspace) => {
        if ((await workspace.kind(path)) === 'file') {
          throw new ToolError(`${shownPath(path)} is a file, not a folder. read_file reads it.`);
        }
        const files: string[] = [];
        const complaint = await runRipgrep(workspace, {
          args: ['--files'],
          searched: path,
          separator: '\0',
          signal: context.signal,
          onRecord: (file) => files.push(file.replace(/^\.\//, '')) < MAX_COUNTED,
        });
        const notes = complaint === undefined ? [] : [`[${complaint}]`];
        if (files.length === 0)
          return ['There are no files there (empty and ignored ones not counted).', ...notes].join('\n');
        return [...(files.length <= MAX_SHOWN ? files.map(onOneLine) : folded(files, path)), ...notes].join('\n');
      }),
  });
}

/** Only what is directly in the folder: its files, and each folder with its number of files. */
function folded(files: readonly string[], path: string): readonly string[] {
  const depth = path.split('/').filter((name) => name !== '' && name !== '.').length;
  const entries = new Map<string, number>();
  for (const file of files) {
    const names = file.split('/');
    const entry = names.slice(0, depth + 1).join('/') + (names.length > depth + 1 ? '/' : '');
    entries.set(entry, (entries.get(entry) ?? 0) + 1);
  }
  const lines = [...entries].map(
    ([entry, count]) => onOneLine(entry) + (entry.endsWith('/') ? ` (${count} files)` : ''),
  );
  const all = files.length >= MAX_COUNTED ? `more than ${MAX_COUNTED}` : `${files.length}`;
  const left = lines.length > MAX_SHOWN ? ` ${lines.length - MAX_SHOWN} entries are left out.` : '';
  return [
    ...lines.slice(0, MAX_SHOWN),
    `[These are ${all} files, so folders are only counted.${left} Name a folder as path, or use search_files.]`,
  ];
}

/** Names may hold line ends; quoted, they cannot be taken for several. */
function onOneLine(name: string): string {
  // eslint-disable-next-line no-control-regex -- these are what is looked for
  return /[\0-\x1f\x7f]/.test(name) ? JSON.stringify(name) : name;
}
