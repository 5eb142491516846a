/**
 * The activity `describeAgent`: from an agent's definition and a run's settings to the spec that the run pins.
 * Checks what people typed into the run's input; what is wrong there ends the run at once, with a sentence.
 */
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { z } from 'zod';
import { defineAgent, type AgentDefinition, type AgentOptions, type ModelOptions } from '../agents/define-agent.js';
import { DefinitionError } from '../agents/definition-error.js';
import type { PriceSpec, ToolSpec } from '../agents/spec.js';
import type { RunSettings } from '../agents/run-input.js';
import { DESCRIBE_FAILURE, type DescribeAgentOutput } from '../agents/wire.js';
import type { McpServerDefinition } from '../mcp/define-server.js';
import { checkTogether } from '../mcp/tool-specs.js';
import { cutText } from '../conversation/cut-text.js';
import { jsonBytes } from '../conversation/json-bytes.js';
import { specOf } from './agent-spec.js';
import type { RunCache } from './run-cache.js';
import { SETTINGS, type Settings } from './run-settings.js';

export interface DescribeDependencies {
  readonly agents: ReadonlyMap<string, AgentDefinition>;
  readonly prices: Readonly<Record<string, PriceSpec>>;
  readonly cache: RunCache;
  /** Whether the namespace has Everlap's search attributes. */
  readonly searchAttributes: () => Promise<boolean>;
  /** Whether payloads over Temporal's limit have somewhere to go. */
  readonly storesLargePayloads: () => boolean;
}

/** The task is in the run's input, in its conversation, and in the input of every execution after; a payload has 2 MB. */
const MAX_TASK_BYTES = 1_500_000;
/** The spec is carried along too, and goes into a page of messages for workers that do not know it. */
const MAX_SPEC_BYTES = 500_000;
/** What people typed is quoted, and may be anything. */
const MAX_SENTENCE = 2000;

const INPUT = z.object({
  agent: z.string().min(1, 'is empty'),
  task: z
    .string()
    .default('')
    .refine((task) => jsonBytes(task) <= MAX_TASK_BYTES, `is too long: ${MAX_TASK_BYTES} bytes as JSON are the most`),
  settings: SETTINGS.optional(),
  form: z.string().optional(),
});

/**
 * The spec; or, for an agent with MCP servers, their names, where nobody lists their tools: starting and asking servers
 * takes long, and is done by an activity with other limits.
 * @param listTools the tools of these servers.
 * @throws ApplicationFailure `unknown_agent` or `bad_request`, both final.
 */
export async function describeAgent(
  dependencies: DescribeDependencies,
  raw: unknown,
  listTools?: (servers: readonly McpServerDefinition[]) => Promise<readonly ToolSpec[]>,
): Promise<DescribeAgentOutput> {
  const input = INPUT.safeParse(raw);
  if (!input.success) {
    throw bad(`The input of agentRun must be { agent, task, settings? }.\n${z.prettifyError(input.error)}`);
  }
  const agent = agentOf(dependencies, input.data.agent);
  const form = input.data.form === undefined ? agent : agentOf(dependencies, input.data.form);
  const { prices, cache } = dependencies;
  const searchAttributes = await dependencies.searchAttributes();
  try {
    const { options } = defineAgent({
      ...withSettings(agent.options, input.data.settings ?? {}),
      ...(form.options.output && { output: form.options.output }),
    });
    if (input.data.task.trim() === '' && options.session === undefined) {
      throw bad(
        'The input of agentRun must be { agent, task, settings? }: task is empty. Only an agent with a session may start without one.',
      );
    }
    const storesLargePayloads = dependencies.storesLargePayloads();
    const { mcp = [] } = agent.options;
    const mcpTools = listTools === undefined || mcp.length === 0 ? [] : await listTools(mcp);
    checkTogether(agent.name, agent.tools, mcpTools);
    const spec = specOf(agent, options, { prices, searchAttributes, storesLargePayloads }, mcpTools, form);
    if (listTools === undefined && mcp.length > 0) return { mcp: mcp.map(({ name }) => name) };
    const bytes = jsonBytes(spec);
    if (bytes > MAX_SPEC_BYTES) {
      throw new DefinitionError(
        `Agent ${agent.name}: its instructions and its tools' schemas have ${bytes} bytes as JSON; ${MAX_SPEC_BYTES} are the most. Put long texts into files.`,
      );
    }
    cache.keepSpec(spec);
    return spec;
  } catch (error) {
    throw error instanceof DefinitionError ? bad(error.message) : error;
  }
}

function agentOf({ agents }: DescribeDependencies, name: string): AgentDefinition {
  const agent = agents.get(name);
  if (agent !== undefined) return agent;
  const message = `There is no agent "${cutText(name, 100)}" on this worker; it has: ${[...agents.keys()].join(', ')}.`;
  throw final(message, DESCRIBE_FAILURE.unknownAgent);
}

/** Settings go before the definition: whole fields, but single ones of limits, model, context and toolResult. */
function withSettings(options: AgentOptions, settings: Settings): AgentOptions {
  // Durations are checked by defineAgent, with a sentence; the schema knows them as text only.
  const given = settings as RunSettings;
  const { laps, session, limits, model, context, toolResult, ...rest } = given;
  return {
    ...options,
    ...rest,
    ...(model && { model: { ...modelOptions(options.model), ...modelOptions(model) } }),
    ...(limits && { limits: { ...options.limits, ...limits } }),
    ...(context && { context: { ...options.context, ...context } }),
    ...(toolResult && { toolResult: { ...options.toolResult, ...toolResult } }),
    ...(laps !== undefined && { laps: laps ?? undefined }),
    ...(session !== undefined && { session: session ?? undefined }),
  };
}

function modelOptions(model: string | ModelOptions): ModelOptions {
  return typeof model === 'string' ? { name: model } : model;
}

function bad(message: string): ApplicationFailure {
  return final(message, DESCRIBE_FAILURE.badRequest);
}

/** The run says it, and fails: the SDK need not log it as well. */
function final(message: string, type: string): ApplicationFailure {
  const category = ApplicationFailureCategory.BENIGN;
  return ApplicationFailure.create({ message: cutText(message, MAX_SENTENCE), type, nonRetryable: true, category });
}
