/** Where tool results lie that are too long for a conversation. Knows neither tools nor models. */
import { createHash } from 'node:crypto';
import { workspaceName } from '../activities/workspaces.js';

/** A place for bytes under names. `folderArtifacts` and `s3Artifacts` are two; another is two methods, or three. */
export interface ArtifactStore {
  /** Stores the bytes; the same key again replaces them. Rejects with whatever went wrong. */
  put(key: string, bytes: Uint8Array, signal: AbortSignal): Promise<void>;
  /**
   * Up to `length` bytes from byte `from` on, none where that is behind the end; `size` is that of the whole.
   * null where nothing is stored under the key.
   */
  get(key: string, from: number, length: number, signal: AbortSignal): Promise<ArtifactPart | null>;
  /** Deletes what was kept long enough, where nothing else does. Workers call it when they start, and daily. */
  sweep?(signal: AbortSignal): Promise<void>;
}

export interface ArtifactPart {
  readonly bytes: Uint8Array;
  readonly size: number;
}

/** The id by which a model asks for a result: the same on every attempt of a call, another for every other call. */
export function artifactId(idempotencyKey: string): string {
  return `r${createHash('sha256').update(idempotencyKey).digest('hex').slice(0, 16)}`;
}

/**
 * The key of a run's artifact; null for what is no id. The run is part of it: no id leads to another run's artifacts.
 * @param runId workflow id.
 */
export function artifactKey(runId: string, id: string): string | null {
  return /^r[0-9a-f]{16}$/.test(id) ? `${workspaceName(runId)}/${id}.txt` : null;
}
