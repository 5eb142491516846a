/** `edit_file`: replaces an exact text in a file. */
import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { z } from 'zod';
import { defineTool, type ToolContext, type ToolDefinition } from '../agents/define-tool.js';
import { ToolError } from '../agents/tool-error.js';
import { wellFormed } from '../conversation/cut-text.js';
import { shortHash } from '../conversation/short-hash.js';
import { FileText } from './file-text.js';
import { checkFileOptions, inWorkspace, PATH_HELP, type FileToolOptions } from './file-tool-options.js';
import { replaceText } from './replace-text.js';
import { withWorkspace, type Workspace } from './workspace.js';
import { shownPath } from './workspace-path.js';
import { checkWritable, temporaryNames } from './write-file.js';

const MAX_BYTES = 20 * 1024 * 1024;

/**
 * Temporal may retry it, although replacing "a" by "aa" twice is not as once: before the file changes, a note in the
 * run's workspace says which call is about to make which bytes out of which. A call that finds its own note, and the
 * file as the note says it will be, is done already. One note per run is enough: a serial tool is never called again
 * before its last call is settled.
 */
export function editFile(options: FileToolOptions = {}): ToolDefinition {
  checkFileOptions('edit_file', options);
  return defineTool({
    name: 'edit_file',
    description:
      'Replace a text in a file of the workspace by another. old_text must be exactly as in the file, spaces and line ends included, and occur once; ' +
      'take enough lines around it, or set all to replace it everywhere.',
    input: z.object({
      path: z.string().describe(`The file. ${PATH_HELP}`),
      old_text: z.string().describe('The text to be replaced.'),
      new_text: z.string().describe('The text to put in its place; "" removes it.'),
      all: z.boolean().optional().describe('Replace it wherever it occurs. Default: false.'),
    }),
    effects: 'idempotent',
    concurrency: 'serial',
    timeout: '1 minute',
    execute: ({ path, old_text: oldText, new_text: newText, all = false }, context) => {
      checkWritable(path);
      return inWorkspace(options, context, async (workspace) => {
        const { bytes, version } = await workspace.file(path, (file) => readWhole(file, path));
        const note = await findNote(context);
        const hash = sha256(bytes);
        if (note?.after === hash) return note.result;
        if (note !== undefined && note.before !== hash) {
          throw new ToolError(
            `It is not known whether this edit of ${shownPath(path)} was made: the worker was lost while making it, and the file has changed since. ` +
              'Read it, and edit it again where that is needed.',
          );
        }
        const text = new FileText(path).decode(bytes);
        const edit = replaceText(shownPath(path), text, wellFormed(oldText), wellFormed(newText), all);
        const edited = Buffer.from(hasMark(bytes) ? `\ufeff${edit.text}` : edit.text);
        const result = `Replaced ${edit.summary} in ${shownPath(path)}.`;
        await workspace.replaceFile(path, edited, temporaryNames(context), async () => {
          await keepNote(context, { key: context.idempotencyKey, before: hash, after: sha256(edited), result });
          await checkUnchanged(workspace, path, version);
          context.signal.throwIfAborted();
        });
        return result;
      });
    },
  });
}

interface Note {
  readonly key: string;
  /** SHA-256 of the file's bytes. */
  readonly before: string;
  readonly after: string;
  readonly result: string;
}

const NOTE = z.object({ key: z.string(), before: z.string(), after: z.string(), result: z.string() });

function notePath({ call }: ToolContext): string {
  return `.everlap/edit-${shortHash(call.runId)}.json`;
}

/** The note of this very call. One that cannot be read was never finished, so neither was its edit begun. */
async function findNote(context: ToolContext): Promise<Note | undefined> {
  return withWorkspace(context.workspace, async (workspace) => {
    try {
      const bytes = await workspace.file(notePath(context), (file) => file.readFile());
      const note = NOTE.parse(JSON.parse(bytes.toString()));
      return note.key === context.idempotencyKey ? note : undefined;
    } catch (error) {
      if (error instanceof ToolError || error instanceof SyntaxError || error instanceof z.ZodError) return undefined;
      throw error;
    }
  });
}

function keepNote(context: ToolContext, note: Note): Promise<void> {
  return withWorkspace(context.workspace, (workspace) =>
    workspace.replaceFile(notePath(context), Buffer.from(JSON.stringify(note)), temporaryNames(context), () => {}),
  );
}

async function readWhole(file: FileHandle, path: string): Promise<{ bytes: Buffer; version: string }> {
  const { size } = await file.stat();
  if (size > MAX_BYTES) {
    throw new ToolError(`${shownPath(path)} has ${size} bytes; edit_file takes files of ${MAX_BYTES} at most.`);
  }
  return { bytes: await file.readFile(), version: await versionOf(file) };
}

/** @throws Error, so that Temporal tries again, where someone else wrote the file while it was edited. */
async function checkUnchanged(workspace: Workspace, path: string, version: string): Promise<void> {
  if ((await workspace.file(path, versionOf)) !== version) {
    throw new Error(`${shownPath(path)} was changed by someone else during the edit; it is as they left it.`);
  }
}

async function versionOf(file: FileHandle): Promise<string> {
  const { ino, size, mtimeNs } = await file.stat({ bigint: true });
  return `${ino}/${size}/${mtimeNs}`;
}

function hasMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
