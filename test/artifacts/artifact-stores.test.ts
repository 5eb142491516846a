/** Both artifact stores by the same rules; S3 through the real SDK, over HTTP. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { artifactId, artifactKey, type ArtifactStore } from '../../src/artifacts/artifact-store.js';
import { folderArtifacts } from '../../src/artifacts/folder-artifacts.js';
import { s3Artifacts } from '../../src/artifacts/s3-artifacts.js';
import { startFakeS3, type FakeS3 } from './s3-server.js';

const never = new AbortController().signal;
let folder: string;
let s3: FakeS3;
let client: S3Client;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'everlap-artifacts-'));
  s3 = await startFakeS3();
  client = new S3Client({
    endpoint: s3.endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    maxAttempts: 1,
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
  });
});
afterAll(async () => {
  client.destroy();
  await s3.close();
  await rm(folder, { recursive: true, force: true });
});

describe.each<[string, () => ArtifactStore]>([
  ['folder', () => folderArtifacts(folder)],
  ['S3', () => s3Artifacts({ client, bucket: 'bucket', prefix: 'some/where/' })],
])('%s', (_, make) => {
  const text = Buffer.from('Zürich 🌍 '.repeat(1000));
  const part = async (key: string, from: number, length: number) => {
    const found = await make().get(key, from, length, never);
    return found === null ? null : { text: Buffer.from(found.bytes).toString('latin1'), size: found.size };
  };

  it('gives back any part', async () => {
    await make().put('run/a.txt', text, never);
    for (const [from, length] of [
      [0, 10],
      [5, 1],
      [text.length - 3, 10],
      [0, 1_000_000],
    ] as const) {
      const expected = text.subarray(from, from + length).toString('latin1');
      expect(await part('run/a.txt', from, length)).toEqual({ text: expected, size: text.length });
    }
  });

  it('gives nothing from behind the end, and null for what is not there', async () => {
    await make().put('run/b.txt', text, never);
    expect(await part('run/b.txt', text.length, 10)).toEqual({ text: '', size: text.length });
    expect(await part('run/b.txt', text.length + 1000, 10)).toEqual({ text: '', size: text.length });
    expect(await part('run/c.txt', 0, 10)).toBeNull();
    expect(await part('other/b.txt', 0, 10)).toBeNull();
  });

  it('replaces what has the same key', async () => {
    await make().put('run/d.txt', text, never);
    await make().put('run/d.txt', Buffer.from('short'), never);
    expect(await part('run/d.txt', 0, 100)).toEqual({ text: 'short', size: 5 });
  });

  it('is aborted', async () => {
    await expect(make().put('run/e.txt', text, AbortSignal.abort())).rejects.toThrow();
    expect(await part('run/e.txt', 0, 10)).toBeNull();
  });
});

it('the folder has whole files only', async () => {
  expect((await readdir(join(folder, 'run'))).sort()).toEqual(['a.txt', 'b.txt', 'd.txt']);
});

it('S3 keys have the prefix', () => {
  expect([...s3.objects.keys()]).toContain('/bucket/some/where/run/a.txt');
});

describe('keys', () => {
  it('are the same on every attempt, and of no other call or run', () => {
    const id = artifactId('run/1/2/0/abc');
    expect(artifactId('run/1/2/0/abc')).toBe(id);
    expect(artifactId('run/1/2/1/abc')).not.toBe(id);
    expect(artifactKey('run', id)).toBe(`run/${id}.txt`);
    expect(artifactKey('../run', id)).toMatch(/^[\w.]+\/r[0-9a-f]{16}\.txt$/);
    expect(artifactKey('../run', id)).not.toContain('..');
  });

  it.each(['', '..', '../x', 'r', 'r0123456789abcdef/../x', 'R0123456789ABCDEF', `r${'0'.repeat(17)}`])(
    'there is none for %j',
    (id) => expect(artifactKey('run', id)).toBeNull(),
  );
});
