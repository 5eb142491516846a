/** `write_file`: a whole file, new or instead of the old one. */
import { z } from 'zod';
import { defineTool, type ToolContext, type ToolDefinition } from '../agents/define-tool.js';
import { ToolError } from '../agents/tool-error.js';
import { wellFormed } from '../conversation/cut-text.js';
import { shortHash } from '../conversation/short-hash.js';
import { checkFileOptions, inWorkspace, PATH_HELP, type FileToolOptions } from './file-tool-options.js';
import type { TemporaryNames } from './workspace.js';
import { pathNames, shownPath } from './workspace-path.js';

/** Writing twice leaves the same file, so Temporal may retry it. */
export function writeFile(options: FileToolOptions = {}): ToolDefinition {
  checkFileOptions('write_file', options);
  return defineTool({
    name: 'write_file',
    description:
      'Write a text file of the workspace, whole: what was in it before is gone. Missing folders are made. To change a part of a file, use edit_file.',
    input: z.object({
      path: z.string().describe(`The file. ${PATH_HELP}`),
      content: z.string().describe('All of its text.'),
    }),
    effects: 'idempotent',
    concurrency: 'serial',
    timeout: '1 minute',
    execute: ({ path, content }, context) => {
      checkWritable(path);
      const bytes = Buffer.from(wellFormed(content));
      return inWorkspace(options, context, async (workspace) => {
        await workspace.replaceFile(path, bytes, temporaryNames(context), () => context.signal.throwIfAborted());
        return `Wrote ${bytes.length} bytes to ${shownPath(path)}.`;
      });
    },
  });
}

/**
 * Git runs programs that its own folder names, so writing there would be a way out of the workspace; `.everlap` holds
 * what runs depend on. Compared without case: some disks see none.
 * @throws ToolError for a path into one of them.
 */
export function checkWritable(path: string): void {
  const kept = pathNames(path).find((name) => ['.git', '.everlap'].includes(name.toLowerCase()));
  if (kept === undefined) return;
  throw new ToolError(`${shownPath(path)} may not be written: no tool changes files in ${shownPath(kept)}.`);
}

/**
 * Names for the file that a write makes first: one for each attempt, so that an attempt that was given up but still
 * runs does not write into the same file.
 */
export function temporaryNames({ attempt, idempotencyKey }: ToolContext): TemporaryNames {
  const name = (number: number) => `.${shortHash(`${idempotencyKey}#${number}`)}.everlap-tmp`;
  return { name: name(attempt), leftovers: Array.from({ length: attempt - 1 }, (_, index) => name(index + 1)) };
}
