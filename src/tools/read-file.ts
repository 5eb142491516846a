/** `read_file`: a text file, or a page of it. */
import type { FileHandle } from 'node:fs/promises';
import { z } from 'zod';
import { defineTool, type ToolDefinition } from '../agents/define-tool.js';
import { ToolError } from '../agents/tool-error.js';
import { FileText } from './file-text.js';
import { checkFileOptions, inWorkspace, PATH_HELP, type FileToolOptions } from './file-tool-options.js';
import { LinePage } from './line-page.js';
import { shownPath } from './workspace-path.js';

const MAX_LINES = 1_000;
const MAX_CHARS = 40_000;
const CHUNK_BYTES = 256 * 1024;
/** Up to here the lines after the page are counted too, so that the model knows how many there are. */
const COUNTED_BYTES = 32 * 1024 * 1024;

/** The text without line numbers and otherwise unchanged: `edit_file` needs it exact. */
export function readFile(options: FileToolOptions = {}): ToolDefinition {
  checkFileOptions('read_file', options);
  return defineTool({
    name: 'read_file',
    description:
      `Read a text file of the workspace. You get its exact text, without line numbers; at most ${MAX_LINES} lines or ${MAX_CHARS} characters at once, ` +
      'and then a note in [brackets] that says how to read on.',
    input: z.object({
      path: z.string().describe(`The file. ${PATH_HELP}`),
      from_line: z.int().min(1).optional().describe('The first line to read. Default: 1.'),
      lines: z
        .int()
        .min(1)
        .optional()
        .describe(`How many lines to read. Default: ${MAX_LINES}, which is also the most.`),
    }),
    effects: 'none',
    timeout: '1 minute',
    execute: ({ path, from_line: from = 1, lines = MAX_LINES }, context) =>
      inWorkspace(options, context, (workspace) =>
        workspace.file(path, async (file) => {
          const { size } = await file.stat();
          const page = new LinePage(from, Math.min(lines, MAX_LINES), MAX_CHARS);
          const whole = await readInto(page, file, path, size <= COUNTED_BYTES, context.signal);
          return pageText(page, path, whole ? undefined : size);
        }),
      ),
  });
}

/** @returns whether the file was read to its end. */
async function readInto(
  page: LinePage,
  file: FileHandle,
  path: string,
  toTheEnd: boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const text = new FileText(path);
  const buffer = Buffer.alloc(CHUNK_BYTES);
  while (toTheEnd || !page.done) {
    signal.throwIfAborted();
    const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES);
    page.add(text.decode(buffer.subarray(0, bytesRead), bytesRead > 0));
    if (bytesRead === 0) {
      page.end();
      return true;
    }
  }
  return false;
}

/** @param size of the file in bytes, where it was not read to its end. */
function pageText(page: LinePage, path: string, size: number | undefined): string {
  const { from, last, lines, text, missing } = page;
  if (lines === 0 && from === 1) return `[${shownPath(path)} is empty.]`;
  if (last < from) {
    throw new ToolError(`${shownPath(path)} has ${lines} lines; there is no line ${from}.`);
  }
  if (from === 1 && size === undefined && last === lines && missing === 0) return text;
  const cutNote = missing > 0 ? ` Line ${last} is long: its last ${missing} characters are left out.` : '';
  const all = size === undefined ? `of ${lines}` : `of a file of ${size} bytes`;
  const next = size === undefined && last === lines ? '' : ` Read on with from_line ${last + 1}.`;
  return `${text}${text.endsWith('\n') ? '' : '\n'}[Lines ${from} to ${last} ${all}.${cutNote}${next}]`;
}
