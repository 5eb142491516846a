/** A folder as artifact store: for one machine, or several that share a folder. */
import { randomUUID } from 'node:crypto';
import { mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { ArtifactStore } from './artifact-store.js';

export const DEFAULT_ARTIFACTS = '.everlap/artifacts';

/**
 * Artifacts as text files, in one folder for each run. Nothing deletes them: a run that has ended can be read on.
 * @param folder relative to the worker's working directory; made where it does not exist.
 */
export function folderArtifacts(folder: string = DEFAULT_ARTIFACTS): ArtifactStore {
  const root = resolve(folder);
  return {
    async put(key, bytes, signal) {
      const path = join(root, key);
      const temporary = `${path}.${randomUUID()}`;
      await mkdir(dirname(path), { recursive: true });
      try {
        await writeFile(temporary, bytes, { signal });
        await rename(temporary, path);
      } catch (error) {
        await rm(temporary, { force: true });
        throw error;
      }
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
  };
}

function nullIfMissing(error: unknown): null {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
  throw error;
}
