/**
 * `defineAgent`: what a user writes. Safe to import anywhere, workflows included.
 * Knows no prices, windows or namespaces: those are worked out per run in `activities/describe-agent.ts`.
 */
import type { z } from 'zod';
import type { JsonObject } from '../conversation/json.js';
import { FINAL_ANSWER_NAME } from '../conversation/json-answer.js';
import { checkContext, checkLaps, checkModel, checkToolResult } from './agent-parts.js';
import {
  atLeast,
  checkName,
  DefinitionError,
  isList,
  oneOf,
  onlyFields,
  shown,
  type Fields,
} from './definition-error.js';
import type { ToolDefinition } from './define-tool.js';
import { toMs, type Duration } from './duration.js';
import { HAND_OFF } from './hand-off.js';
import { MODES, type Mode } from './mode.js';
import { serversByName, type McpServerDefinition } from '../mcp/define-server.js';
import { parseLimits, type LimitOptions } from './limits.js';
import { agentOutput, type AgentOutput } from './output-schema.js';
import { sessionSpec, type SessionOptions } from './session.js';

export interface ModelOptions {
  readonly name: string;
  /** Requests for one turn at one model, at most; then the next fallback model. Default 5. */
  readonly attempts?: number;
  /** A whole answer. Default 10 minutes. */
  readonly timeout?: Duration;
  /** From the request to the first event of the stream. Default 2 minutes. */
  readonly firstEventTimeout?: Duration;
  /** Between two events of the stream; comments are none. Default 1 minute. */
  readonly idleTimeout?: Duration;
  /** Cap on the tokens of one answer. */
  readonly maxOutputTokens?: number;
  /** Put into the request as they are: temperature, reasoning_effort, … */
  readonly parameters?: JsonObject;
}

export interface ContextOptions {
  /** Tokens that the model takes. Default: known for well-known models, else 128,000. */
  readonly window?: number;
  /** Share of the window at which the conversation is compacted, above 0 and at most 1. Default 0.8. */
  readonly compactAt?: number;
  /** Newest turns that compaction leaves as they are. Default 4. */
  readonly keepTurns?: number;
  /** The model that writes the summary. Default: the run's own. */
  readonly compactModel?: string;
}

export interface LapsOptions {
  /** Laps at most. */
  readonly max: number;
  /**
   * `promise`: the run ends when the last line of a lap's answer is this text, alone.
   * `verify`: a shell command, run in the workspace after each lap; exit code 0 ends the run.
   */
  readonly until: { readonly promise: string } | { readonly verify: string };
  /** What the next lap starts from, besides the task and the workspace's files. Default `workspace`. */
  readonly handoff?: 'workspace' | 'note';
  /** Failed laps in a row that end the run. Default 2. */
  readonly maxFailed?: number;
  /** `per-lap`: each lap takes the agent's newest definition. Default `pinned`. */
  readonly spec?: 'pinned' | 'per-lap';
}

export interface ToolResultOptions {
  /** Characters of one result that the model sees, from 200 to 400,000. Default 20,000; of many calls at once, each has less. */
  readonly maxChars?: number;
  /** Whether longer results are stored whole, for the model to read on with the tool `read_result`. Default true. */
  readonly readResult?: boolean;
}

export interface AgentOptions {
  /** 1 to 64 letters, digits, `_`, `-`. */
  readonly name: string;
  readonly instructions: string;
  readonly model: string | ModelOptions;
  /** Asked in turn when a model stays overloaded. */
  readonly fallbackModels?: readonly string[];
  readonly tools?: readonly ToolDefinition[];
  /** MCP servers whose tools it gets, made by `mcpServer()`. They are listed when a run starts, and pinned by it. */
  readonly mcp?: readonly McpServerDefinition[];
  readonly limits?: LimitOptions;
  /** What an exhausted run does: end at once, or ask once more, with tools off, for a summary. Default `stop`. */
  readonly onLimit?: 'stop' | 'summarize';
  /** What may run without asking; `setMode` changes it while running. Default `ask`. */
  readonly mode?: Mode;
  /** Equal calls with equal results in a row that count as stuck, also in cycles. Default 3. */
  readonly stuckWindow?: number;
  readonly context?: ContextOptions;
  readonly toolResult?: ToolResultOptions;
  readonly laps?: LapsOptions;
  /** Keeps the run open after an answer, for the next message (`followUp`). Cannot go together with laps. */
  readonly session?: SessionOptions;
  /**
   * The form of the answer: a `z.object(…)`. The server holds the model to it where it can; else the model gives its answer by
   * calling a tool `final_answer`. A wrong answer goes back to the model with what is wrong, three times at most. The
   * result's `output` is then JSON, and typed where the run was started with the definition.
   */
  readonly output?: z.ZodType;
  /** How soon a dead worker is noticed. Default 10 seconds. */
  readonly heartbeatTimeout?: Duration;
}

export interface AgentDefinition {
  readonly name: string;
  readonly options: AgentOptions;
  readonly tools: readonly ToolDefinition[];
  readonly output?: AgentOutput;
}

/** An agent whose answers have a form: the result of a run that is started with it is typed. */
export interface AgentWithOutput<Output> extends AgentDefinition {
  readonly output: AgentOutput<Output>;
}

const FIELDS: Fields<AgentOptions> = {
  name: true,
  instructions: true,
  model: true,
  fallbackModels: true,
  tools: true,
  mcp: true,
  limits: true,
  onLimit: true,
  mode: true,
  stuckWindow: true,
  context: true,
  toolResult: true,
  laps: true,
  session: true,
  output: true,
  heartbeatTimeout: true,
};

/**
 * Defines an agent.
 * @throws DefinitionError naming agent and field, for whatever could not work in a run.
 */
export function defineAgent<Schema extends z.ZodType>(
  options: AgentOptions & { readonly output: Schema },
): AgentWithOutput<z.output<Schema>>;
export function defineAgent(options: AgentOptions): AgentDefinition;
export function defineAgent(options: AgentOptions): AgentDefinition {
  if (typeof options !== 'object' || options === null) throw new DefinitionError('defineAgent needs an object.');
  checkName('Agent', options.name);
  const where = `Agent ${options.name}`;
  onlyFields(where, options, FIELDS);
  if (typeof options.instructions !== 'string') throw new DefinitionError(`${where}: instructions must be a text.`);
  checkModel(where, options.model);
  checkFallbacks(where, options.fallbackModels ?? []);
  if (options.limits !== undefined) parseLimits(where, options.limits);
  if (options.mode !== undefined) oneOf(`${where}: mode`, options.mode, MODES);
  if (options.onLimit !== undefined) oneOf(`${where}: onLimit`, options.onLimit, ['stop', 'summarize']);
  if (options.heartbeatTimeout !== undefined) toMs(`${where}: heartbeatTimeout`, options.heartbeatTimeout);
  if (options.stuckWindow !== undefined) atLeast(`${where}: stuckWindow`, options.stuckWindow, 2);
  checkToolResult(where, options.toolResult);
  checkContext(where, options.context);
  checkLaps(where, options.laps);
  checkSession(where, options);
  checkServers(where, options.mcp ?? []);
  const tools = checkTools(where, options.tools ?? []);
  if (options.laps?.handoff === 'note' && tools.some(({ name }) => name === HAND_OFF.name)) {
    throw new DefinitionError(
      `${where}: its own tool ${HAND_OFF.name} collides with the built-in one of laps.handoff "note".`,
    );
  }
  if (options.output === undefined) return { name: options.name, options, tools };
  checkEndsInForm(where, options.laps, tools);
  return { name: options.name, options, tools, output: agentOutput(options.name, options.output) };
}

/** With `output`, nothing else may decide what the run's output is. */
function checkEndsInForm(where: string, laps: LapsOptions | undefined, tools: readonly ToolDefinition[]): void {
  const ending = tools.find((tool) => tool.ends);
  if (ending !== undefined) {
    throw new DefinitionError(
      `${where}: output and the tool ${ending.name}, which ends the run, cannot go together: that tool's result would be the output, whatever its form.`,
    );
  }
  if (tools.some(({ name }) => name === FINAL_ANSWER_NAME)) {
    throw new DefinitionError(
      `${where}: its own tool ${FINAL_ANSWER_NAME} collides with the one by which some servers' models give an output. Name it otherwise.`,
    );
  }
  if (laps !== undefined && 'promise' in laps.until) {
    throw new DefinitionError(
      `${where}: output and laps.until "promise" cannot go together: an answer that is JSON has no last line for the promise.`,
    );
  }
}

function checkFallbacks(where: string, models: readonly string[]): void {
  const areNames = isList(models) && models.every((model) => typeof model === 'string' && model.trim() !== '');
  if (!areNames) throw new DefinitionError(`${where}: fallbackModels must be a list of models' names.`);
}

function checkTools(where: string, tools: readonly ToolDefinition[]): readonly ToolDefinition[] {
  if (!isList(tools)) throw new DefinitionError(`${where}: tools must be a list.`);
  const names = new Set<string>();
  for (const tool of tools) {
    if (typeof tool?.execute !== 'function' || typeof tool.timeoutMs !== 'number') {
      throw new DefinitionError(`${where}: tools has something that defineTool() did not make: ${shown(tool)}.`);
    }
    if (names.has(tool.name)) throw new DefinitionError(`${where}: it has two tools of the name ${tool.name}.`);
    names.add(tool.name);
  }
  return [...tools];
}

function isServer(server: unknown): server is McpServerDefinition {
  return typeof server === 'object' && server !== null && 'startTimeoutMs' in server;
}

/** What was given is not told: it may hold a key. */
function checkServers(where: string, servers: readonly McpServerDefinition[]): void {
  if (!Array.isArray(servers) || servers.some((server: unknown) => !isServer(server))) {
    throw new DefinitionError(`${where}: mcp must be a list of what mcpServer() makes.`);
  }
  const names = serversByName(servers);
  if (names.size < servers.length) throw new DefinitionError(`${where}: mcp has one server twice.`);
}

function checkSession(where: string, { session, laps }: AgentOptions): void {
  if (session === undefined) return;
  sessionSpec(where, session);
  if (laps === undefined) return;
  throw new DefinitionError(`${where}: session and laps cannot go together: a lap's end is no end of a conversation.`);
}

/** The task queue where workers, the client and the CLI meet unless told otherwise. */
export const DEFAULT_TASK_QUEUE = 'everlap';
