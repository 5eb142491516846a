/**
 * A folder as Temporal's external storage: payloads over a size go into files, and histories hold only a claim. For one
 * machine, or several with one shared folder; a fleet takes `@temporalio/external-storage-s3` instead.
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import {
  ExternalStorage,
  StorageDriverClaim,
  type Payload,
  type StorageDriver,
  type StorageDriverRetrieveContext,
  type StorageDriverStoreContext,
} from '@temporalio/common';
import { z } from 'zod';
import { type Fields, onlyFields } from '../agents/definition-error.js';

export interface FolderStorageOptions {
  /** Made where it does not exist. Everyone who reads these runs needs it: workers, clients, the CLI. */
  readonly folder: string;
  /** Bytes from which a payload goes into a file. Default: the SDK's own, 256 KiB. */
  readonly threshold?: number;
}

const FIELDS: Fields<FolderStorageOptions> = { folder: true, threshold: true };

/**
 * For `dataConverter.externalStorage` of a Temporal worker and client, or `externalStorage` of Everlap's config.
 * @throws DefinitionError for an option that there is not.
 */
export function folderStorage(options: FolderStorageOptions): ExternalStorage {
  onlyFields('folderStorage', options, FIELDS);
  const { folder, threshold } = options;
  return new ExternalStorage({
    drivers: [new FolderDriver(resolve(folder))],
    ...(threshold !== undefined && { payloadSizeThreshold: threshold }),
  });
}

const STORED = z.object({ metadata: z.record(z.string(), z.string()), data: z.string() });
const CLAIM = z.object({ sha256: z.string().regex(/^[0-9a-f]{64}$/) });

class FolderDriver implements StorageDriver {
  readonly name = 'everlap-folder';
  readonly type = 'everlap.folder';

  constructor(private readonly folder: string) {}

  store({ abortSignal }: StorageDriverStoreContext, payloads: Payload[]): Promise<StorageDriverClaim[]> {
    return Promise.all(payloads.map((payload) => this.storeOne(payload, abortSignal)));
  }

  retrieve({ abortSignal }: StorageDriverRetrieveContext, claims: StorageDriverClaim[]): Promise<Payload[]> {
    return Promise.all(claims.map((claim) => this.retrieveOne(claim, abortSignal)));
  }

  /** Named by its content: a payload that is stored again, after a retry, is the same file. */
  private async storeOne(payload: Payload, signal: AbortSignal | undefined): Promise<StorageDriverClaim> {
    const text = serialise(payload);
    const sha256 = createHash('sha256').update(text).digest('hex');
    const path = this.pathOf(sha256);
    const temporary = `${path}.${randomUUID()}`;
    await mkdir(dirname(path), { recursive: true });
    try {
      await writeFile(temporary, text, { signal });
      await rename(temporary, path);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
    return new StorageDriverClaim({ sha256 });
  }

  private async retrieveOne({ claimData }: StorageDriverClaim, signal: AbortSignal | undefined): Promise<Payload> {
    const { sha256 } = CLAIM.parse(claimData);
    const text = await readFile(this.pathOf(sha256), { encoding: 'utf8', signal }).catch((error: unknown) => {
      throw new Error(
        `A payload of this run is not in ${this.folder}: ${sha256}. Give worker and client the folder that it was stored in.`,
        { cause: error },
      );
    });
    const { metadata, data } = STORED.parse(JSON.parse(text));
    return {
      metadata: Object.fromEntries(
        Object.entries(metadata).map(([key, value]): [string, Uint8Array] => [key, fromBase64(value)]),
      ),
      data: fromBase64(data),
    };
  }

  private pathOf(sha256: string): string {
    return join(this.folder, sha256.slice(0, 2), sha256);
  }
}

function serialise({ metadata, data }: Payload): string {
  const entries = Object.entries(metadata ?? {}).map(([key, value]): [string, string] => [key, toBase64(value)]);
  return JSON.stringify({ metadata: Object.fromEntries(entries), data: toBase64(data) });
}

function toBase64(bytes: Uint8Array | null | undefined): string {
  return Buffer.from(bytes ?? new Uint8Array()).toString('base64');
}

function fromBase64(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'base64'));
}
