/**
 * A folder that its users cannot leave. Everything that a built-in tool opens goes through here; links are never
 * followed, whether they lead outside or not. Knows files and folders, not what tools make of them.
 *
 * The way down is walked name by name, each opened without following links and relative to the folder opened before
 * (`/proc/self/fd/<n>/<name>`, Linux's openat). So what was checked is what is used, even while something else swaps
 * folders for links. Without `/proc` (macOS) each name is checked too, but by its path: a swap in between is not seen.
 */
import { constants } from 'node:fs';
import { lstat, mkdir, open, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { ToolError } from '../agents/tool-error.js';
import { fileNames, pathNames, shownPath } from './workspace-path.js';

/** Opens without waiting (a FIFO would block for ever) and without following a link. */
const SAFELY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const FOLDER = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_DIRECTORY;

export interface TemporaryNames {
  /** A name that only this write uses. */
  readonly name: string;
  /** Names that earlier attempts of it used; files of these names are removed. */
  readonly leftovers: readonly string[];
}

type Kind = 'file' | 'folder' | 'link' | 'device, socket or pipe';

/**
 * Opens `folder` (absolute, or relative to the worker's working directory) for `use`, and closes it afterwards.
 * @throws Error where there is no such folder.
 */
export async function withWorkspace<T>(folder: string, use: (workspace: Workspace) => Promise<T>): Promise<T> {
  let root: Folder;
  try {
    const path = await realpath(folder);
    root = await Folder.open(path, path);
  } catch (error) {
    throw new Error(`The workspace folder cannot be opened on this worker: ${systemReason(error)}.`, {
      cause: error,
    });
  }
  try {
    return await use(new Workspace(root));
  } finally {
    await root.close();
  }
}

/** An open folder, from which names are resolved. */
export class Folder {
  private constructor(
    readonly handle: FileHandle,
    /** For this process, and as the working directory of a child (which has the descriptor until it starts). */
    readonly path: string,
  ) {}

  static async open(at: string, path: string): Promise<Folder> {
    const handle = await open(at, FOLDER);
    const descriptor = `/proc/self/fd/${handle.fd}`;
    // A `/proc` without working descriptors falls back to the path.
    const seen = await stat(`${descriptor}/.`).catch(() => undefined);
    const opened = await handle.stat();
    return new Folder(handle, seen?.ino === opened.ino && seen.dev === opened.dev ? descriptor : path);
  }

  at(name: string): string {
    return join(this.path, name);
  }

  /** undefined where there is nothing. */
  async kindOf(name: string): Promise<Kind | undefined> {
    try {
      const found = await lstat(this.at(name));
      if (found.isFile()) return 'file';
      if (found.isDirectory()) return 'folder';
      return found.isSymbolicLink() ? 'link' : 'device, socket or pipe';
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}

export class Workspace {
  constructor(readonly root: Folder) {}

  /**
   * Opens an ordinary file for `use`.
   * @throws ToolError where there is none.
   */
  async file<T>(path: string, use: (file: FileHandle) => Promise<T>): Promise<T> {
    const { folder, name } = fileNames(path);
    return this.within(path, folder, false, async (parent) => {
      const kind = await parent.kindOf(name);
      if (kind !== 'file') throw new ToolError(notThat(path, kind, 'file'));
      const file = await open(parent.at(name), SAFELY);
      try {
        // It may have been replaced since it was looked at.
        if (!(await file.stat()).isFile()) throw new ToolError(notThat(path, 'device, socket or pipe', 'file'));
        return await use(file);
      } finally {
        await file.close();
      }
    });
  }

  /** What is at `path`: a file or a folder. @throws ToolError where there is neither. */
  async kind(path: string): Promise<'file' | 'folder'> {
    const names = pathNames(path);
    const name = names.at(-1);
    if (name === undefined) return 'folder';
    return this.within(path, names.slice(0, -1), false, async (parent) => {
      const kind = await parent.kindOf(name);
      if (kind === 'folder' || kind === 'file') return kind;
      throw new ToolError(notThat(path, kind, 'folder'));
    });
  }

  /**
   * Writes a whole file, or nothing: beside it first, then renamed over it. Folders on the way are made; the mode of
   * a replaced file is kept.
   * @param ready called directly before the rename; the file stays as it was if it throws
   */
  async replaceFile(
    path: string,
    content: Uint8Array,
    temporary: TemporaryNames,
    ready: () => void | Promise<void>,
  ): Promise<void> {
    const { folder, name } = fileNames(path);
    await this.within(path, folder, true, async (parent) => {
      const kind = await parent.kindOf(name);
      if (kind !== undefined && kind !== 'file') throw new ToolError(notThat(path, kind, 'file'));
      const mode = kind && (await lstat(parent.at(name))).mode & 0o777;
      const beside = parent.at(temporary.name);
      for (const leftover of [...temporary.leftovers, temporary.name]) await rm(parent.at(leftover), { force: true });
      try {
        const file = await open(beside, 'wx', mode);
        try {
          await file.writeFile(content);
          if (mode !== undefined) await file.chmod(mode);
          await file.sync();
        } finally {
          await file.close();
        }
        await ready();
        await rename(beside, parent.at(name));
      } catch (error) {
        await rm(beside, { force: true });
        throw error;
      }
      await parent.handle.sync();
    });
  }

  /** Opens the folder that `names` lead to for `use`; failures of the system on the way or in `use` name `path`. */
  private async within<T>(
    path: string,
    names: readonly string[],
    create: boolean,
    use: (folder: Folder) => Promise<T>,
  ): Promise<T> {
    let folder = this.root;
    try {
      for (const name of names) {
        const next = await enter(folder, name, path, create);
        if (folder !== this.root) await folder.close();
        folder = next;
      }
      return await use(folder);
    } catch (error) {
      throw asSentence(error, path);
    } finally {
      if (folder !== this.root) await folder.close();
    }
  }
}

async function enter(folder: Folder, name: string, path: string, create: boolean): Promise<Folder> {
  const kind = await folder.kindOf(name);
  if (kind === undefined && create) {
    await mkdir(folder.at(name)).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST') throw error;
    });
  } else if (kind === undefined) {
    throw new ToolError(notThat(path, undefined, 'folder'));
  } else if (kind !== 'folder') {
    const what = kind === 'link' ? 'a link, and links are not followed' : `a ${kind}, not a folder`;
    throw new ToolError(`The path ${shownPath(path)} goes through ${shownPath(name)}, which is ${what}.`);
  }
  return Folder.open(folder.at(name), folder.at(name));
}

function notThat(path: string, kind: Kind | undefined, wanted: 'file' | 'folder'): string {
  const shown = shownPath(path);
  if (kind === undefined) return `There is no ${wanted} ${shown} in the workspace. list_files shows what there is.`;
  if (kind === 'link') return `${shown} is a link, and links are not followed. Name the file itself.`;
  if (kind === 'folder') return `${shown} is a folder, not a file. list_files shows what is in it.`;
  return `${shown} is a ${kind}, not a ${wanted}.`;
}

/** What the model can change becomes a ToolError. Paths of this machine stay out of both kinds. */
function asSentence(error: unknown, path: string): unknown {
  const code = codeOf(error);
  if (code === undefined) return error;
  const shown = shownPath(path);
  const refusals: Record<string, string> = {
    ENOENT: `There is no ${shown} in the workspace any more.`,
    ENOTDIR: `The path ${shown} goes through a link or a file, which is no folder.`,
    ELOOP: `${shown} is a link, and links are not followed.`,
    EISDIR: `${shown} is a folder, not a file.`,
    EACCES: `The worker is not permitted to use ${shown}.`,
    EPERM: `The worker is not permitted to use ${shown}.`,
    EROFS: `${shown} cannot be written: its disk is read-only.`,
    ENXIO: `${shown} is a device, socket or pipe, not a file.`,
    ENAMETOOLONG: `The path ${shown} is too long.`,
    EINVAL: `${shown} is not a name that this disk takes.`,
  };
  const refusal = refusals[code];
  return refusal === undefined
    ? new Error(`${shown} could not be used: ${systemReason(error)}.`)
    : new ToolError(refusal);
}

/** "ENOSPC: no space left on device", without the path that Node puts behind it. */
function systemReason(error: unknown): string {
  return error instanceof Error ? (error.message.split(', ')[0] ?? '') : String(error);
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
