/** What becomes of old results: deleted after their time by whoever works, and nothing but them. */
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { folderArtifacts } from 'everlap/worker';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { folderArtifacts as folderArtifactsHere } from '../../src/artifacts/folder-artifacts.js';
import { sweepDaily } from '../../src/worker/sweep-daily.js';
import { eventually, startRig } from '../support/rig.js';

/** For what happens to come between two steps of a write. */
const fs = vi.hoisted(() => ({ beforeWrite: undefined as (() => Promise<void>) | undefined }));
vi.mock('node:fs/promises', async (importOriginal) => {
  const real = await importOriginal<typeof import('node:fs/promises')>();
  const writeFileLater: typeof real.writeFile = async (...args) => {
    const { beforeWrite } = fs;
    fs.beforeWrite = undefined;
    await beforeWrite?.();
    return real.writeFile(...args);
  };
  return { ...real, writeFile: writeFileLater };
});

const DAY_MS = 24 * 3600 * 1000;
const A = 'r0123456789abcdef.txt';
const B = 'rfedcba9876543210.txt';
const never = new AbortController().signal;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'everlap-sweep-'));
});
afterEach(async () => {
  vi.useRealTimers();
  await rm(folder, { recursive: true, force: true });
});

async function age(path: string, days: number): Promise<void> {
  const then = new Date(Date.now() - days * DAY_MS);
  await utimes(join(folder, path), then, then);
}

/** A file of this age, in a folder of this age. */
async function file(path: string, days: number): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), 'x');
  await age(path, days);
  if (path.includes('/')) await age(dirname(path), days);
}

async function files(): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1)).sort();
}

describe('a sweep of the folder', () => {
  it('takes runs whose last result is older than that, and leaves the others whole', async () => {
    await file(`old/${A}`, 31);
    await file(`old/${B}.0f8fad5b-d9cb-469f-a165-70867728950e`, 31);
    await file(`young/${A}`, 31);
    await file(`young/${B}`, 29);
    await folderArtifacts(folder).sweep?.(never);
    expect(await files()).toEqual(['young', `young/${A}`, `young/${B}`]);
    await folderArtifacts(folder, { keepFor: '10 days' }).sweep?.(never);
    expect(await files()).toEqual([]);
  });

  it('leaves alone what no store has written, whatever folder was named', async () => {
    await file('notes.txt', 400);
    await file('src/index.ts', 400);
    await file('src/r0123.txt', 400);
    await file(`mixed/${A}`, 400);
    await file('mixed/README.md', 400);
    await file(`deep/er/${A}`, 400);
    await age('deep', 400);
    await folderArtifacts(folder).sweep?.(never);
    const left = ['deep', 'deep/er', `deep/er/${A}`, 'mixed', 'mixed/README.md', 'notes.txt', 'src', 'src/index.ts'];
    expect(await files()).toEqual([...left, 'src/r0123.txt']);
  });

  it('leaves a result that comes to an old run meanwhile', async () => {
    await file(`run/${A}`, 31);
    await file(`run/${B}`, 0);
    await age('run', 31);
    await folderArtifacts(folder).sweep?.(never);
    expect(await files()).toEqual(['run', `run/${B}`]);
  });

  it('stops when it is told to, and finds nothing where nothing was stored', async () => {
    await file(`old/${A}`, 31);
    await expect(folderArtifacts(folder).sweep?.(AbortSignal.abort())).rejects.toThrow();
    expect(await files()).toEqual(['old', `old/${A}`]);
    await folderArtifacts(join(folder, 'none')).sweep?.(never);
  });

  it('may take a run’s empty folder away in the middle of a write: that is done again', async () => {
    fs.beforeWrite = () => rm(join(folder, 'run'), { recursive: true });
    const store = folderArtifactsHere(folder);
    await store.put(`run/${A}`, Buffer.from('x'), never);
    expect(await files()).toEqual(['run', `run/${A}`]);
    await writeFile(join(folder, 'taken'), '');
    await expect(store.put(`taken/${A}`, Buffer.from('x'), never)).rejects.toThrow();
  });

  it('is none where results are kept for ever; what is no duration is refused', () => {
    expect('sweep' in folderArtifacts(folder, { keepFor: null })).toBe(false);
    expect(() => folderArtifacts(folder, { keepFor: 'long' })).toThrow(
      /^folderArtifacts: keepFor is "long"; it must be/,
    );
  });
});

describe('a worker', () => {
  it('sweeps when it starts', async () => {
    await file(`old/${A}`, 31);
    await file(`young/${A}`, 1);
    const rig = await startRig({ script: [], worker: { artifacts: folderArtifacts(folder) } });
    await eventually(async () => (await files()).length === 2, 'the sweep');
    expect(await files()).toEqual(['young', `young/${A}`]);
    await rig.stop();
  });

  it('sweeps daily until it stops, and logs what fails', async () => {
    vi.useFakeTimers();
    const logged: string[] = [];
    const signals: AbortSignal[] = [];
    const sweep = async (signal: AbortSignal): Promise<void> => {
      signals.push(signal);
      if (signals.length === 2) throw new Error('no such disk');
    };
    const store = { ...folderArtifacts(folder), sweep };
    const stop = sweepDaily(store, (level, message) => void logged.push(`${level} ${message}`));
    expect(signals).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(DAY_MS);
    expect(logged).toEqual([
      'WARN Old results of tools were not all deleted; it is tried again tomorrow: no such disk',
    ]);
    await vi.advanceTimersByTimeAsync(DAY_MS);
    expect(signals).toHaveLength(3);
    stop();
    expect(signals[2]?.aborted).toBe(true);
    await vi.advanceTimersByTimeAsync(3 * DAY_MS);
    expect(signals).toHaveLength(3);
  });
});
