/** A folder as artifact store: for one machine, or several that share a folder. */
import { randomUUID } from 'node:crypto';
import { mkdir, open, opendir, readdir, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type Fields, onlyFields } from '../agents/definition-error.js';
import { toMs, type Duration } from '../agents/duration.js';
import type { ArtifactStore } from './artifact-store.js';

const DEFAULT_ARTIFACTS = '.everlap/artifacts';
const DEFAULT_KEEP = '30 days';

export interface FolderArtifactsOptions {
  /**
   * How long a run's results are kept after it has stored one last, open or not: longer than your runs live. Default 30 days;
   * null: for ever. Workers delete older ones when they start, and daily.
   */
  readonly keepFor?: Duration | null;
}

const FIELDS: Fields<FolderArtifactsOptions> = { keepFor: true };

/**
 * Artifacts as text files, in one folder for each run.
 * @param folder relative to the worker's working directory; made where it does not exist.
 * @throws DefinitionError where `keepFor` is no duration, or for an option that there is not.
 */
export function folderArtifacts(
  folder: string = DEFAULT_ARTIFACTS,
  options: FolderArtifactsOptions = {},
): ArtifactStore {
  onlyFields('folderArtifacts', options, FIELDS);
  const { keepFor = DEFAULT_KEEP } = options;
  const root = resolve(folder);
  const keepForMs = keepFor === null ? Infinity : toMs('folderArtifacts: keepFor', keepFor);
  return {
    async put(key, bytes, signal) {
      const path = join(root, key);
      // Once more: a sweep may take the run's empty folder away right after it was made.
      await write(path, bytes, signal).catch((error: unknown) => {
        if (!isOf(error, 'ENOENT')) throw error;
        return write(path, bytes, signal);
      });
    },
    async get(key, from, length) {
      const file = await open(join(root, key)).catch(nullIfMissing);
      if (file === null) return null;
      try {
        const { size } = await file.stat();
        const bytes = Buffer.alloc(Math.max(0, Math.min(length, size - from)));
        let read = 0;
        while (read < bytes.length) {
          const { bytesRead } = await file.read(bytes, read, bytes.length - read, from + read);
          if (bytesRead === 0) break;
          read += bytesRead;
        }
        return { bytes: bytes.subarray(0, read), size };
      } finally {
        await file.close();
      }
    },
    ...(keepForMs < Infinity && { sweep: (signal) => sweep(root, Date.now() - keepForMs, signal) }),
  };
}

async function write(path: string, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
  const temporary = `${path}.${randomUUID()}`;
  await mkdir(dirname(path), { recursive: true });
  try {
    await writeFile(temporary, bytes, { signal });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** What {@link write} makes, left-overs of a crash included: nothing else is ever deleted, whatever folder was named. */
const OWN_FILE = /^r[0-9a-f]{16}\.txt(\.[0-9a-f-]{36})?$/;

async function sweep(root: string, before: number, signal: AbortSignal): Promise<void> {
  const runs = await opendir(root).catch(nullIfMissing);
  for await (const run of runs ?? []) {
    signal.throwIfAborted();
    const folder = join(root, run.name);
    if (run.isDirectory() && (await isOlder(folder, before))) await sweepRun(folder, before);
  }
}

async function sweepRun(folder: string, before: number): Promise<void> {
  for (const file of (await readdir(folder).catch(nullIfMissing)) ?? []) {
    const path = join(folder, file);
    // A file that came while this was going on is younger than its folder was.
    if (OWN_FILE.test(file) && (await isOlder(path, before))) await rm(path, { force: true });
  }
  await rmdir(folder).catch((error: unknown) => {
    if (!isOf(error, 'ENOENT', 'ENOTEMPTY', 'EEXIST')) throw error;
  });
}

/** A folder changes when something is put into it. False for what another worker has deleted meanwhile. */
async function isOlder(path: string, before: number): Promise<boolean> {
  const found = await stat(path).catch(nullIfMissing);
  return found !== null && found.mtimeMs < before;
}

function nullIfMissing(error: unknown): null {
  if (isOf(error, 'ENOENT')) return null;
  throw error;
}

function isOf(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}
