/** `search_files`: lines of the workspace's files that match a regular expression. */
import { z } from 'zod';
import { defineTool, type ToolDefinition } from '../agents/define-tool.js';
import { ToolError } from '../agents/tool-error.js';
import { checkFileOptions, inWorkspace, PATH_HELP, type FileToolOptions } from './file-tool-options.js';
import { runRipgrep, type RipgrepRun } from './ripgrep.js';

const MAX_HITS = 200;
const MAX_LINE_BYTES = 300;

/** Hits as ripgrep shows them: a file's path, then its lines, each with its number. */
export function searchFiles(options: FileToolOptions = {}): ToolDefinition {
  checkFileOptions('search_files', options);
  return defineTool({
    name: 'search_files',
    description:
      'Search the text files of the workspace for lines that match a regular expression (ripgrep: no look-around, no backreferences). ' +
      `Shows at most ${MAX_HITS} lines with their numbers. Files that .gitignore names are left out.`,
    input: z.object({
      pattern: z
        .string()
        .min(1)
        .describe('A regular expression. Put "\\" before ( ) [ ] { } . * + ? | ^ $ to find them as they are.'),
      path: z.string().optional().describe(`A folder or file to search in. ${PATH_HELP} Default: the whole workspace.`),
      glob: z
        .string()
        .min(1)
        .optional()
        .describe('Only files like this, such as "*.ts" or "src/**/*.md"; with "!" in front, all others.'),
      ignore_case: z.boolean().optional().describe('Whether capitals and small letters are the same. Default: false.'),
    }),
    effects: 'none',
    timeout: '1 minute',
    execute: ({ pattern, path = '', glob, ignore_case: ignoreCase = false }, context) => {
      const args = [
        '--line-number',
        '--with-filename',
        '--no-heading',
        `--max-columns=${MAX_LINE_BYTES}`,
        '--max-columns-preview',
        ignoreCase ? '--ignore-case' : '--case-sensitive',
        `--regexp=${argument('pattern', pattern)}`,
        ...(glob === undefined ? [] : [`--glob=${argument('glob', glob)}`]),
      ];
      return inWorkspace(options, context, async (workspace) => {
        const hits = new Hits();
        const search = (searched: RipgrepRun['searched']) =>
          runRipgrep(workspace, { args, searched, separator: '\n', signal: context.signal, onRecord: hits.add });
        const isFile = (await workspace.kind(path)) === 'file';
        const complaint = isFile ? await workspace.file(path, search) : await search(path);
        return hits.text(isFile ? path : undefined, complaint);
      });
    },
  });
}

/** No process can be given a NUL. */
function argument(name: string, value: string): string {
  if (!value.includes('\0')) return value;
  throw new ToolError(`The ${name} contains a NUL character; text files have none. Write \\x00 to look for one.`);
}

class Hits {
  private readonly lines: string[] = [];
  private file = '';
  private count = 0;
  private more = false;

  /** Takes ripgrep's `path NUL number:text`; other records (a binary file that matches) are no lines to show. */
  readonly add = (record: string): boolean => {
    const [path, hit] = record.split('\0', 2);
    if (path === undefined || hit === undefined) return true;
    this.more = this.count === MAX_HITS;
    if (this.more) return false;
    this.count += 1;
    if (path !== this.file) this.lines.push(path.replace(/^\.\//, ''));
    this.file = path;
    this.lines.push(`  ${hit.replace(/\r$/, '')}`);
    return true;
  };

  /** @param only the one file that was searched, where it was one: ripgrep was not told its name. */
  text(only: string | undefined, complaint: string | undefined): string {
    const lines = this.count > 0 && only !== undefined ? [only, ...this.lines.slice(1)] : [...this.lines];
    if (this.count === 0) lines.push('Nothing matches.');
    if (this.more)
      lines.push(`[There are more; these are the first ${MAX_HITS}. Narrow the search by path, glob or pattern.]`);
    if (complaint !== undefined) lines.push(`[${complaint}]`);
    return lines.join('\n');
  }
}
