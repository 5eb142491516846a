/** Tells when sources change, in a folder and below. Knows nothing of what is done then. */
import { readdirSync, watch, type FSWatcher } from 'node:fs';
import { dirname, extname, join, relative } from 'node:path';

const SOURCES = new Set(['.ts', '.mts', '.cts', '.tsx', '.js', '.mjs', '.cjs', '.jsx', '.json']);
/** Besides folders that begin with a dot. Node's own recursive watch would go into them. */
const NOT_INTO = new Set(['node_modules', 'dist', 'build', 'out', 'coverage']);
const MAX_FOLDERS = 500;
/** An editor writes in several steps, and a checkout writes many files. */
const SETTLED_MS = 150;

export interface SourceWatch {
  /** Watches the folders of these files, too, wherever they are. */
  alsoIn(files: readonly string[]): void;
  close(): void;
}

/** @param changed is told the last file of a burst of changes, relative to `folder`. */
export function watchSources(folder: string, changed: (file: string) => void): SourceWatch {
  const watchers = new Map<string, FSWatcher>();
  let timer: NodeJS.Timeout | undefined;

  const add = (path: string): void => {
    if (watchers.has(path) || watchers.size >= MAX_FOLDERS) return;
    const watcher = watch(path, (_event, name) => {
      if (name === null || !SOURCES.has(extname(name))) return;
      clearTimeout(timer);
      timer = setTimeout(() => {
        foldersIn(folder).forEach(add);
        changed(relative(folder, join(path, name)));
      }, SETTLED_MS);
    });
    // The folder is gone: there is nothing to be told of any more.
    watcher.on('error', () => watchers.delete(path));
    watchers.set(path, watcher);
  };

  foldersIn(folder).forEach(add);
  return {
    alsoIn: (files) => files.forEach((file) => add(dirname(file))),
    close: () => {
      clearTimeout(timer);
      for (const watcher of watchers.values()) watcher.close();
    },
  };
}

function foldersIn(root: string): string[] {
  const found = [root];
  for (const folder of found) {
    if (found.length > MAX_FOLDERS) break;
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const { name } = entry;
      if (entry.isDirectory() && !name.startsWith('.') && !NOT_INTO.has(name)) found.push(join(folder, name));
    }
  }
  return found;
}
