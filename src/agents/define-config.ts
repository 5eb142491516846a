/** `defineConfig`: what `everlap.config.ts` exports; read by the CLI and by `createWorker`. Safe to import anywhere. */
import type { ExternalStorage } from '@temporalio/common';
import type { ArtifactStore } from '../artifacts/artifact-store.js';
import type { ModelProvider } from '../models/provider.js';
import { DEFAULT_TASK_QUEUE, type AgentDefinition } from './define-agent.js';
import { DefinitionError, isList, onlyFields, shown, type Fields } from './definition-error.js';
import type { ToolDefinition } from './define-tool.js';
import { serversByName, type McpServerDefinition } from '../mcp/define-server.js';
import type { PriceSpec } from './spec.js';

export interface ConfigOptions {
  readonly agents: readonly AgentDefinition[];
  /** Default `everlap`. */
  readonly taskQueue?: string;
  /** Folder under which each run gets its own workspace folder. Default `.everlap/workspaces`. */
  readonly workspaces?: string;
  /**
   * Where tool results lie that are too long for the model, for `read_result`. Default: the folder `.everlap/artifacts`,
   * 30 days. For workers on several machines: `s3Artifacts`, or `folderArtifacts` of a folder that they share.
   */
  readonly artifacts?: ArtifactStore;
  /** Who answers model calls. Default: OpenAI chat completions, by OPENAI_API_KEY and OPENAI_BASE_URL. */
  readonly provider?: ModelProvider;
  /** Where payloads over Temporal's limit of 2 MB go: `folderStorage` for one machine, S3 for a fleet. */
  readonly externalStorage?: ExternalStorage;
  /** USD per million tokens, by model; goes before the built-in list. */
  readonly prices?: Readonly<Record<string, PriceSpec>>;
}

export interface Config extends ConfigOptions {
  readonly taskQueue: string;
}

const FIELDS: Fields<ConfigOptions> = {
  agents: true,
  taskQueue: true,
  workspaces: true,
  artifacts: true,
  provider: true,
  externalStorage: true,
  prices: true,
};
const PRICE: Fields<PriceSpec> = { input: true, output: true, cachedInput: true, long: true };
const LONG: Fields<NonNullable<PriceSpec['long']>> = { over: true, input: true, output: true, cachedInput: true };

/** @throws DefinitionError for a field that there is not, for two agents of one name, or two different tools of one name (they share an activity type). */
export function defineConfig(options: ConfigOptions): Config {
  if (!isList(options?.agents) || options.agents.length === 0) {
    throw new DefinitionError('The config needs agents: a list of at least one that defineAgent() made.');
  }
  onlyFields('The config', options, FIELDS);
  if (options.taskQueue !== undefined && (typeof options.taskQueue !== 'string' || options.taskQueue === '')) {
    throw new DefinitionError('The config: taskQueue must be a name.');
  }
  for (const agent of options.agents) {
    if (typeof agent?.name !== 'string' || !isList(agent.tools)) {
      throw new DefinitionError(`The config: agents has something that defineAgent() did not make: ${shown(agent)}.`);
    }
  }
  agentsByName(options.agents);
  toolsByName(options.agents);
  mcpServersOf(options.agents);
  checkPrices(options.prices ?? {});
  return { ...options, taskQueue: options.taskQueue ?? DEFAULT_TASK_QUEUE };
}

/** A price that is no number would make every cost one that is none, and no limit in dollars would ever be reached. */
function checkPrices(prices: Readonly<Record<string, PriceSpec>>): void {
  for (const [model, price] of Object.entries(prices)) {
    checkAmounts(model, '', price, ['input', 'output', 'cachedInput']);
    onlyFields(`The config: the price of ${model}`, price, PRICE);
    if (price.long === undefined) continue;
    checkAmounts(model, 'long.', price.long, ['over', 'input', 'output', 'cachedInput']);
    onlyFields(`The config: the price of ${model}, long,`, price.long, LONG);
  }
}

function checkAmounts<Field extends string>(
  model: string,
  path: string,
  amounts: { readonly [field in Field]?: unknown } | null | undefined,
  fields: readonly Field[],
): void {
  for (const field of fields) {
    const value = amounts?.[field];
    const isAmount = typeof value === 'number' && Number.isFinite(value) && value >= 0;
    if (isAmount || (field === 'cachedInput' && value === undefined)) continue;
    const unit = field === 'over' ? 'a number of input tokens' : 'US dollars per million tokens';
    throw new DefinitionError(
      `The config: the price of ${model}, ${path}${field}, is ${shown(value)}; it must be ${unit}.`,
    );
  }
}

/** These agents, and those that their tools refer to, directly or not. A cycle is no harm. */
function withReferred(agents: readonly AgentDefinition[]): readonly AgentDefinition[] {
  const all = [...agents];
  for (const agent of all) {
    for (const { agent: referred } of agent.tools) {
      const other = referred?.get();
      if (other === undefined || all.includes(other)) continue;
      if (typeof other?.name !== 'string' || !isList(other.tools)) {
        throw new DefinitionError(
          `Agent ${agent.name}: a tool of it refers to something that defineAgent() did not make.`,
        );
      }
      all.push(other);
    }
  }
  return all;
}

/** Those that are referred to by tools included. @throws DefinitionError where two agents have one name. */
export function agentsByName(agents: readonly AgentDefinition[]): ReadonlyMap<string, AgentDefinition> {
  const byName = new Map<string, AgentDefinition>();
  for (const agent of withReferred(agents)) {
    if (byName.has(agent.name)) throw new DefinitionError(`There are two agents of the name ${agent.name}.`);
    byName.set(agent.name, agent);
  }
  return byName;
}

/** The MCP servers of these agents and of those that they refer to. @throws DefinitionError as `serversByName`. */
export function mcpServersOf(agents: readonly AgentDefinition[]): ReadonlyMap<string, McpServerDefinition> {
  return serversByName(withReferred(agents).flatMap((agent) => agent.options?.mcp ?? []));
}

/**
 * The tools that need a worker.
 * @throws DefinitionError where two agents have different ones of one name: a worker has one activity per name.
 */
export function toolsByName(agents: readonly AgentDefinition[]): ReadonlyMap<string, ToolDefinition> {
  const byName = new Map<string, ToolDefinition>();
  for (const tool of withReferred(agents).flatMap((agent) => agent.tools)) {
    if (tool.execution !== 'activity' && tool.execution !== 'local') continue;
    const other = byName.get(tool.name);
    if (other !== undefined && other !== tool) {
      throw new DefinitionError(
        `Two agents have different tools of the name ${tool.name}; share one definition, or name them apart.`,
      );
    }
    byName.set(tool.name, tool);
  }
  return byName;
}
