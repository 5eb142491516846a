/** An S3 bucket, or one of a store that speaks S3, as artifact store: for workers on several machines. */
import { z } from 'zod';
import { type Fields, onlyFields } from '../agents/definition-error.js';
import type { ArtifactPart, ArtifactStore } from './artifact-store.js';

export interface S3ArtifactsOptions {
  /** An `S3Client` of `@aws-sdk/client-s3`, with region, endpoint and credentials as yours are. It stays yours to destroy. */
  readonly client: S3ClientLike;
  readonly bucket: string;
  /** Put before every key. Default `everlap/artifacts/`. */
  readonly prefix?: string;
}

const FIELDS: Fields<S3ArtifactsOptions> = { client: true, bucket: true, prefix: true };

/** What is used of an `S3Client`. */
export interface S3ClientLike {
  send(command: unknown, options?: { abortSignal?: AbortSignal }): Promise<unknown>;
}

const FOUND = z.object({
  Body: z.custom<{ transformToByteArray(): Promise<Uint8Array> }>(
    (body) => typeof body === 'object' && body !== null && 'transformToByteArray' in body,
  ),
  /** `bytes 0-99/1234` */
  ContentRange: z
    .string()
    .regex(/\/\d+$/)
    .transform((range) => Number(range.slice(range.lastIndexOf('/') + 1))),
});

/**
 * Nothing here deletes artifacts: give the bucket a lifecycle rule for the prefix. Needs the package `@aws-sdk/client-s3`.
 * @throws DefinitionError for an option that there is not.
 */
export function s3Artifacts(options: S3ArtifactsOptions): ArtifactStore {
  onlyFields('s3Artifacts', options, FIELDS);
  const { client, bucket, prefix = 'everlap/artifacts/' } = options;
  const place = (key: string) => ({ Bucket: bucket, Key: prefix + key });
  return {
    async put(key, bytes, abortSignal) {
      const { PutObjectCommand } = await sdk();
      const object = { ...place(key), Body: bytes, ContentType: 'text/plain; charset=utf-8' };
      await client.send(new PutObjectCommand(object), { abortSignal });
    },
    async get(key, from, length, abortSignal) {
      const { GetObjectCommand } = await sdk();
      const read = async (first: number, last: number): Promise<ArtifactPart> => {
        const command = new GetObjectCommand({ ...place(key), Range: `bytes=${first}-${last}` });
        const { Body, ContentRange: size } = FOUND.parse(await client.send(command, { abortSignal }));
        return { bytes: await Body.transformToByteArray(), size };
      };
      try {
        return await read(from, from + length - 1);
      } catch (error) {
        if (isNamed(error, 'NoSuchKey', 'NotFound')) return null;
        if (!isNamed(error, 'InvalidRange')) throw error;
        const { size } = await read(0, 0);
        return { bytes: new Uint8Array(), size };
      }
    },
  };
}

async function sdk(): Promise<typeof import('@aws-sdk/client-s3')> {
  try {
    return await import('@aws-sdk/client-s3');
  } catch (error) {
    throw new Error('s3Artifacts needs the package @aws-sdk/client-s3: npm install @aws-sdk/client-s3', {
      cause: error,
    });
  }
}

function isNamed(error: unknown, ...names: readonly string[]): boolean {
  return error instanceof Error && names.includes(error.name);
}
