// What is here and what is missing to run Everlap on this machine, as data. Prints nothing, changes nothing (but for a
// file that it makes in the cache folder and removes again), downloads nothing.
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ConnectionOptions } from '@temporalio/client';
import { cacheFolder } from './cache-folder.js';
import { diagnoseServer } from './doctor-server.js';
import { runCommand } from './run-command.js';
import { findTemporalCli } from './temporal-cli.js';

export interface Check {
  name: string;
  ok: boolean;
  /** What was found, or what is wrong. Never a secret. */
  detail: string;
  /** What to do; only where it is not ok. */
  fix?: string;
  /** Everlap works without it, with the restriction that `detail` tells. */
  optional?: boolean;
  /** Since something that comes before it is not ok. */
  notLookedAt?: true;
}

export interface DiagnoseOptions {
  address: string;
  namespace: string;
  taskQueue: string;
  /** Name of the environment variable that holds the provider's key. Default `OPENAI_API_KEY`. */
  apiKeyEnv?: string;
  /** TLS, API key and the like of the Temporal server, as from `@temporalio/envconfig`. */
  connection?: Omit<ConnectionOptions, 'address'>;
  env?: NodeJS.ProcessEnv;
}

/** All checks, always the same ones in the same order. Takes at most about half a minute, whatever is missing. */
export async function diagnose(options: DiagnoseOptions): Promise<Check[]> {
  const { env = process.env, apiKeyEnv = 'OPENAI_API_KEY' } = options;
  const [cli, python, search, folder, server] = await Promise.all([
    temporalCli(env),
    pip(env),
    ripgrep(),
    cache(env),
    diagnoseServer(options),
  ]);
  const models = [apiKey(env, apiKeyEnv), baseUrl(env)];
  return [node(process.versions.node), cli, python, ...models, search, folder, ...server];
}

/** As in package.json, `engines`. */
const OLDEST_NODE = [20, 19] as const;

export function node(version: string): Check {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const ok = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
  const check: Check = { name: 'Node.js', ok, detail: version };
  return ok ? check : { ...check, fix: `Install Node.js ${OLDEST_NODE.join('.')} or later (https://nodejs.org).` };
}

async function temporalCli(env: NodeJS.ProcessEnv): Promise<Check> {
  const name = 'Temporal CLI';
  try {
    const { path, source, version } = await findTemporalCli({ env, download: false });
    return { name, ok: true, detail: `${version} at ${path} (${source})` };
  } catch (error) {
    // A variable that points to nothing stops `everlap dev`; a CLI that is not here yet is downloaded by it.
    const misnamed = Boolean(env.EVERLAP_TEMPORAL_CLI);
    return {
      name,
      ok: false,
      optional: !misnamed,
      detail: misnamed ? text(error) : 'not on this machine; only `everlap dev` needs it',
      fix: misnamed
        ? 'Correct EVERLAP_TEMPORAL_CLI or unset it.'
        : '`everlap dev` downloads it when it first runs. Or install it: https://docs.temporal.io/cli',
    };
  }
}

async function pip(env: NodeJS.ProcessEnv): Promise<Check> {
  const name = 'Python with pip';
  for (const python of ['python3', 'python']) {
    try {
      const said = await runCommand(python, ['-m', 'pip', '--version'], { env, timeoutMs: 30_000 });
      return { name, ok: true, optional: true, detail: said.split(' from ')[0] ?? said };
    } catch {
      continue; // the next name; that none runs is the result below
    }
  }
  return {
    name,
    ok: false,
    optional: true,
    detail: 'not found; it is one of two ways to download the Temporal CLI',
    fix: 'Nothing, where the Temporal CLI is there or temporal.download can be reached. Else install Python 3 with pip.',
  };
}

function apiKey(env: NodeJS.ProcessEnv, name: string): Check {
  const set = Boolean(env[name]?.trim());
  const check: Check = { name: 'API key', ok: set, optional: true, detail: `${name} is ${set ? '' : 'not '}set` };
  if (set) return check;
  return {
    ...check,
    detail: `${check.detail}; without it only the scripted model can be used`,
    fix: `Set ${name} where workers run (any text where your server wants no key).`,
  };
}

function baseUrl(env: NodeJS.ProcessEnv): Check {
  const name = 'Model server';
  const set = env.OPENAI_BASE_URL?.trim();
  if (!set) return { name, ok: true, detail: 'the default, https://api.openai.com/v1 (OPENAI_BASE_URL is not set)' };
  const url = URL.canParse(set) ? new URL(set) : undefined;
  // Only these parts: a user name, a password or a query may hold a secret.
  if (url && /^https?:$/.test(url.protocol)) return { name, ok: true, detail: `${url.origin}${url.pathname}` };
  return {
    name,
    ok: false,
    detail: 'OPENAI_BASE_URL is not an http or https address',
    fix: 'Set it to something like http://127.0.0.1:11434/v1, or unset it for OpenAI.',
  };
}

async function ripgrep(): Promise<Check> {
  const name = 'ripgrep';
  try {
    const { rgPath } = await import('@vscode/ripgrep'); // throws where the platform's package is missing
    const said = await runCommand(rgPath, ['--version'], { timeoutMs: 30_000 });
    return { name, ok: true, optional: true, detail: said.split('\n')[0] ?? said };
  } catch (error) {
    return {
      name,
      ok: false,
      optional: true,
      detail: `${text(error)}; the built-in file tools need it to list and search`,
      fix: 'Install again without --omit=optional: ripgrep comes as an optional package for each platform.',
    };
  }
}

async function cache(env: NodeJS.ProcessEnv): Promise<Check> {
  const name = 'Cache folder';
  const folder = cacheFolder(env);
  try {
    await mkdir(folder, { recursive: true });
    await rm(await mkdtemp(join(folder, 'doctor-')), { recursive: true });
    return { name, ok: true, detail: folder };
  } catch (error) {
    return {
      name,
      ok: false,
      optional: true,
      detail: `${folder} cannot be written: ${text(error)}`,
      fix: 'Set EVERLAP_CACHE to a folder that can be written; downloads go there.',
    };
  }
}

const text = (error: unknown): string => (error instanceof Error ? error.message : String(error));
