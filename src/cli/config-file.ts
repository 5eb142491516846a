/** Finds and loads `everlap.config.ts`. What is wrong with one comes out as a sentence that names the file. */
import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { createJiti } from 'jiti';
import { DEFAULT_TASK_QUEUE, type AgentDefinition } from '../agents/define-agent.js';
import { defineConfig, type Config, type ConfigOptions } from '../agents/define-config.js';
import { CliError } from './cli-error.js';
import type { CommonFlags } from './options.js';
import { note } from './output.js';
import { packageInfo } from './package-info.js';

export const CONFIG_NAMES = ['everlap.config.ts', 'everlap.config.js', 'everlap.config.mjs'] as const;

export interface LoadedConfig {
  readonly file: string;
  readonly config: Config;
  /** It and what it imports, as far as that is known; no packages. */
  readonly sources: readonly string[];
}

/** Absolute path: the file that was named, else the one in this folder; undefined where neither is there to be read. */
function findConfig(named: string | undefined): string | undefined {
  if (named !== undefined) return resolve(named);
  return CONFIG_NAMES.map((name) => resolve(name)).find((path) => existsSync(path));
}

/** @throws CliError where there is none. */
export function configNeeded(named: string | undefined): string {
  const file = findConfig(named);
  if (file !== undefined) return file;
  throw new CliError(
    `There is no ${CONFIG_NAMES[0]} (or .js, .mjs) in ${process.cwd()}: write one that exports defineConfig({ agents: [...] }) ` +
      'by default, or name yours with --config FILE.',
  );
}

/** The config, where there is one. @throws CliError as {@link loadConfig}, also where a named file is not there. */
export async function loadConfigIfAny(named: string | undefined): Promise<LoadedConfig | undefined> {
  const file = findConfig(named);
  return file === undefined ? undefined : loadConfig(file);
}

/** What is known of an agent that is to be started: a config in this folder knows it; without one, the worker has to. */
export interface KnownAgent extends Pick<Config, 'taskQueue' | 'externalStorage'> {
  readonly definition?: AgentDefinition;
}

/** @throws CliError as {@link loadConfig}, and where the config does not have the agent. */
export async function agentConfig(
  agent: string,
  { config: named, taskQueue }: Pick<CommonFlags, 'config' | 'taskQueue'>,
): Promise<KnownAgent> {
  const loaded = await loadConfigIfAny(named);
  if (loaded === undefined) return { taskQueue: taskQueue ?? DEFAULT_TASK_QUEUE };
  const { file, config } = loaded;
  const definition = config.agents.find(({ name }) => name === agent);
  if (definition === undefined) {
    const names = config.agents.map(({ name }) => name).join(', ');
    throw new CliError(`There is no agent "${agent}" in ${file}; it has: ${names}.`);
  }
  const { externalStorage } = config;
  return { definition, taskQueue: taskQueue ?? config.taskQueue, ...(externalStorage && { externalStorage }) };
}

/**
 * What the config says of reading runs. A config in this folder that cannot be loaded keeps nobody from watching.
 * @throws CliError where one that was named cannot be loaded.
 */
export async function storageOf(named: string | undefined): Promise<Pick<ConfigOptions, 'externalStorage'>> {
  try {
    const externalStorage = (await loadConfigIfAny(named))?.config.externalStorage;
    return externalStorage === undefined ? {} : { externalStorage };
  } catch (error) {
    if (named !== undefined) throw error;
    note(`${messageOf(error)} Going on without it.`);
    return {};
  }
}

/** @throws CliError: not there, not to be understood, no default export, or something wrong in a definition. */
export async function loadConfig(file: string): Promise<LoadedConfig> {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) throw new CliError(`The config ${file} does not exist; correct --config.`);
  if (found.isDirectory()) throw new CliError(`The config ${file} is a folder; name the file in it with --config.`);
  // `everlap` is this very package, also where it is not installed (this repository, npx).
  const { folder, entryPoints } = packageInfo();
  const jiti = createJiti(import.meta.url, { interopDefault: false, alias: { ...entryPoints } });
  let module: unknown;
  try {
    module = await jiti.import(file);
  } catch (error) {
    throw new CliError(`The config ${file} cannot be loaded: ${whatIsWrong(error, file)}`, { cause: error });
  }
  const exported = typeof module === 'object' && module !== null && 'default' in module ? module.default : undefined;
  try {
    const sources = Object.keys(jiti.cache).filter(
      (path) => !path.includes('node_modules') && !path.startsWith(folder),
    );
    return { file, config: defineConfig(checked(exported)), sources };
  } catch (error) {
    throw new CliError(`The config ${file}: ${messageOf(error)}`, { cause: error });
  }
}

function checked(exported: unknown): ConfigOptions {
  if (typeof exported !== 'object' || exported === null) {
    throw new Error('it has no default export; it must end with `export default defineConfig({ agents: [...] })`.');
  }
  if (isAgent(exported)) {
    throw new Error('its default export is an agent; wrap it: `export default defineConfig({ agents: [...] })`.');
  }
  if (!('agents' in exported) || !Array.isArray(exported.agents) || !exported.agents.every(isAgent)) {
    throw new Error('its agents must be a list of what defineAgent() returns.');
  }
  return { ...exported, agents: exported.agents };
}

/** By its form: an agent may come from another copy of this package. */
function isAgent(value: unknown): value is AgentDefinition {
  if (typeof value !== 'object' || value === null) return false;
  return 'name' in value && 'options' in value && 'tools' in value && Array.isArray(value.tools);
}

function whatIsWrong(error: unknown, file: string): string {
  // jiti and Node add a list of who required it, and code excerpts, on further lines.
  const message = messageOf(error).split('\n')[0]?.trim() ?? '';
  if (error instanceof Error && error.name === 'DefinitionError') return message;
  const missing = /Cannot find (?:module|package) '([^']+)'/.exec(message)?.[1];
  if (missing !== undefined) {
    const advice = /^[./]/.test(missing) ? 'correct the import' : `install it (npm install ${missing})`;
    return `it imports ${missing}, which is not there; ${advice}.`;
  }
  const place = placeIn(error, file);
  return `${message.replace(/^ParseError: +/, '')}${place === undefined ? '' : ` (line ${place})`}`;
}

/** Line and column in the config itself, as far as the error tells. */
function placeIn(error: unknown, file: string): string | undefined {
  const text = error instanceof Error ? `${error.message}\n${error.stack ?? ''}` : '';
  const at = text.indexOf(`${file}:`);
  return at === -1 ? undefined : /^\d+:\d+/.exec(text.slice(at + file.length + 1))?.[0];
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
