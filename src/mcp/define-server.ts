/**
 * `mcpServer`: an MCP server whose tools an agent gets. Safe to import anywhere, workflows included: nothing here starts
 * or connects anything, and nothing of it but the name ever leaves the worker.
 */
import {
  checkApproval,
  checkName,
  DefinitionError,
  oneOf,
  onlyFields,
  shown,
  type Fields,
} from '../agents/definition-error.js';
import type { Effects } from '../agents/define-tool.js';
import { toMs, type Duration } from '../agents/duration.js';
import type { JsonObject } from '../conversation/json.js';

/** How tools of a server are treated. What is left out follows from the server's own annotations. */
export interface McpToolPolicy {
  /** By annotations: `never` for tools with `readOnlyHint`, else `always`. A function is evaluated in an activity. */
  readonly approval?: 'never' | 'always' | ((args: JsonObject) => boolean | Promise<boolean>);
  /** How long a person's decision is waited for; then the call is denied. Default: without end. */
  readonly approvalTimeout?: Duration;
  /** By annotations: `none` for `readOnlyHint`, `idempotent` for `idempotentHint`, else `once`. */
  readonly effects?: Effects;
  /** Default `parallel` for tools without effects, else `serial`. */
  readonly concurrency?: 'parallel' | 'serial';
  /** For one call. Default 1 minute. */
  readonly timeout?: Duration;
  /** How often Temporal tries, at most, where `effects` allows a second try. Default 3. */
  readonly attempts?: number;
}

interface CommonOptions {
  /** 1 to 32 letters, digits, `_`, `-`, without `__`. Its tools are named `<name>__<tool>`. */
  readonly name: string;
  /** Names of the tools to take, as the server has them. Default: all. */
  readonly include?: readonly string[];
  /** Names of tools to leave out. */
  readonly exclude?: readonly string[];
  /** For all tools of the server; goes before its annotations. */
  readonly policy?: McpToolPolicy;
  /** For single tools, by the server's names; goes before `policy`. */
  readonly overrides?: Readonly<Record<string, McpToolPolicy>>;
  /** For starting it, or connecting, and again for listing its tools. Default 30 seconds, at most 4 minutes. */
  readonly startTimeout?: Duration;
  /** `false`: a run starts without its tools where it cannot be reached. Default true: the run fails after some tries. */
  readonly required?: boolean;
}

/** A value, or a function that the worker asks for it whenever it is needed: keys may change. */
type Asked<T> = T | (() => T | Promise<T>);

export interface McpProcessOptions extends CommonOptions {
  /** Started by the worker, without a shell, and spoken to over stdin and stdout. */
  readonly command: string;
  readonly args?: readonly string[];
  /** Its environment, besides what every program needs (PATH, HOME, …): nothing else of the worker's is passed on. */
  readonly env?: Asked<Readonly<Record<string, string>>>;
  readonly cwd?: string;
  readonly url?: never;
}

export interface McpHttpOptions extends CommonOptions {
  /** Of the streamable HTTP endpoint, e.g. `https://mcp.example.com/mcp`. */
  readonly url: string;
  /** Sent with each request. A function is asked before each. */
  readonly headers?: Asked<Readonly<Record<string, string>>>;
  /** A bearer token. A function is asked before each request. */
  readonly auth?: Asked<string>;
  readonly command?: never;
}

export type McpServerOptions = McpProcessOptions | McpHttpOptions;

/** Made by {@link mcpServer} only. */
export interface McpServerDefinition {
  readonly name: string;
  readonly options: McpServerOptions;
  readonly startTimeoutMs: number;
}

const POLICY: Fields<McpToolPolicy> = {
  approval: true,
  approvalTimeout: true,
  effects: true,
  concurrency: true,
  timeout: true,
  attempts: true,
};
const COMMON: Fields<CommonOptions> = {
  name: true,
  include: true,
  exclude: true,
  policy: true,
  overrides: true,
  startTimeout: true,
  required: true,
};
const PROCESS: Fields<Omit<McpProcessOptions, 'url'>> = { ...COMMON, command: true, args: true, env: true, cwd: true };
const HTTP: Fields<Omit<McpHttpOptions, 'command'>> = { ...COMMON, url: true, headers: true, auth: true };

const MAX_NAME = 32;
/** Starting and listing have to fit one attempt of `listMcpTools`. */
const MAX_START_MS = 4 * 60_000;

/**
 * Defines an MCP server for `defineAgent({ mcp: [...] })`. A worker starts or connects to it when a run first needs it,
 * once for all runs. Needs the package `@modelcontextprotocol/sdk` on workers.
 * @throws DefinitionError naming the server and the field.
 */
export function mcpServer(options: McpServerOptions): McpServerDefinition {
  if (typeof options !== 'object' || options === null) throw new DefinitionError('mcpServer needs an object.');
  const { name } = options;
  checkName('MCP server', name);
  if (name.length > MAX_NAME || name.includes('__') || name.startsWith('_') || name.endsWith('_')) {
    throw new DefinitionError(
      `MCP server ${name}: its name must have at most ${MAX_NAME} characters, no "__" and no "_" at its ends, since its tools are named ${name}__<tool>.`,
    );
  }
  const where = `MCP server ${name}`;
  checkTarget(where, options);
  onlyFields(where, options, options.command === undefined ? HTTP : PROCESS);
  for (const field of ['include', 'exclude'] as const) {
    const names: unknown = options[field] ?? [];
    if (!Array.isArray(names) || names.some((one) => typeof one !== 'string')) {
      throw new DefinitionError(`${where}: ${field} must be a list of tool names.`);
    }
  }
  checkPolicy(`${where}: policy`, options.policy ?? {});
  for (const [tool, policy] of Object.entries(options.overrides ?? {})) {
    checkPolicy(`${where}: overrides.${tool}`, policy);
  }
  const startTimeoutMs = toMs(`${where}: startTimeout`, options.startTimeout ?? '30 seconds');
  if (startTimeoutMs > MAX_START_MS) {
    throw new DefinitionError(`${where}: startTimeout is ${options.startTimeout}; it may be 4 minutes at most.`);
  }
  return { name, options, startTimeoutMs };
}

/** Values are not told: an environment or a URL may hold a key. */
function checkTarget(where: string, options: McpServerOptions): void {
  const { command, url } = options;
  if ((command === undefined) === (url === undefined)) {
    throw new DefinitionError(
      `${where}: it needs a command (a program to start) or a url (streamable HTTP), and not both.`,
    );
  }
  if (command !== undefined && (typeof command !== 'string' || command.trim() === '')) {
    throw new DefinitionError(`${where}: command must be the name of a program.`);
  }
  if (url !== undefined && (typeof url !== 'string' || !/^https?:\/\/[^/]/.test(url))) {
    throw new DefinitionError(`${where}: url must begin with http:// or https://.`);
  }
  if (url !== undefined && /^https?:\/\/[^/?#]*@/.test(url)) {
    throw new DefinitionError(`${where}: url must not have a name or password in it; give them in headers or auth.`);
  }
}

function checkPolicy(where: string, policy: McpToolPolicy): void {
  onlyFields(where, policy, POLICY);
  const { approval, effects, concurrency, attempts } = policy;
  if (approval !== undefined) checkApproval(`${where}.approval`, approval);
  if (effects !== undefined) oneOf(`${where}.effects`, effects, ['none', 'idempotent', 'once']);
  if (concurrency !== undefined) oneOf(`${where}.concurrency`, concurrency, ['parallel', 'serial']);
  for (const field of ['timeout', 'approvalTimeout'] as const) {
    const duration = policy[field];
    if (duration !== undefined) toMs(`${where}.${field}`, duration);
  }
  if (attempts !== undefined && !(Number.isInteger(attempts) && attempts >= 1)) {
    throw new DefinitionError(`${where}.attempts is ${shown(attempts)}; it must be a whole number of at least 1.`);
  }
}

/** @throws DefinitionError where two different servers have one name: a worker has one connection per name. */
export function serversByName(servers: readonly McpServerDefinition[]): ReadonlyMap<string, McpServerDefinition> {
  const byName = new Map<string, McpServerDefinition>();
  for (const server of servers) {
    const other = byName.get(server.name);
    if (other !== undefined && other !== server) {
      throw new DefinitionError(
        `There are two different MCP servers of the name ${server.name}; share one definition, or name them apart.`,
      );
    }
    byName.set(server.name, server);
  }
  return byName;
}
