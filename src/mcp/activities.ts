/**
 * The activities of MCP tools: `listMcpTools`, and the calls. A call's activity has the type `tool.<server>__<tool>` as any
 * tool's, but those names are not known when a worker starts: they come to the worker's default activity.
 */
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { z } from 'zod';
import { describeAgent, type DescribeDependencies } from '../activities/describe-agent.js';
import { startHeartbeat } from '../activities/heartbeat.js';
import { loadRun } from '../activities/load-run.js';
import { runTool, type ToolDependencies } from '../activities/run-tool.js';
import { toText } from '../activities/to-text.js';
import { ToolError } from '../agents/tool-error.js';
import type { ToolDefinition } from '../agents/define-tool.js';
import type { AgentSpec, ToolSpec } from '../agents/spec.js';
import { TOOL_FAILURE, toolActivity, type ToolOutput } from '../agents/wire.js';
import { isJsonObject } from '../conversation/json.js';
import type { McpServerDefinition } from './define-server.js';
import type { McpPool } from './pool.js';
import { resultText } from './result-text.js';
import { Lost, Unreachable, type ServerLink } from './server-link.js';
import { mcpToolSpecs, policyOf } from './tool-specs.js';

export interface McpDependencies extends ToolDependencies {
  readonly describe: DescribeDependencies;
  readonly pool: McpPool;
}

/** Failure type of `listMcpTools`. */
const UNREACHABLE = 'mcp_unreachable';

/** The spec of a run, with the tools of the agent's MCP servers as they are now. */
export async function listMcpTools(dependencies: McpDependencies, input: unknown): Promise<AgentSpec> {
  const { cancellationSignal } = Context.current();
  const heartbeat = startHeartbeat();
  try {
    const list = async (servers: readonly McpServerDefinition[]): Promise<readonly ToolSpec[]> => {
      const lists = await Promise.all(servers.map((server) => listOne(dependencies, server, cancellationSignal)));
      return lists.flat();
    };
    const spec = await describeAgent(dependencies.describe, input, list);
    if ('mcp' in spec) throw new Error('describeAgent was given a list of tools and asked for one.');
    return spec;
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    const { message, isFinal } = error;
    throw ApplicationFailure.create({ message, type: UNREACHABLE, nonRetryable: isFinal });
  } finally {
    heartbeat.stop();
  }
}

async function listOne(
  { pool }: McpDependencies,
  server: McpServerDefinition,
  signal: AbortSignal,
): Promise<readonly ToolSpec[]> {
  const link = pool.link(server.name);
  if (link === undefined) throw new Unreachable(`This worker does not know the MCP server ${server.name}.`);
  let listed: readonly unknown[];
  try {
    listed = await link.listTools(signal);
  } catch (error) {
    if (server.options.required !== false || !(error instanceof Unreachable)) throw error;
    pool.log('WARN', `A run starts without the tools of the MCP server ${server.name}, which it does not require.`);
    return [];
  }
  const { tools, problems } = mcpToolSpecs(server, listed);
  for (const problem of problems) pool.log('WARN', problem, { mcpServer: server.name });
  return tools;
}

/** The tool as the run has pinned it. */
type Pinned = ToolSpec & { readonly mcp: NonNullable<ToolSpec['mcp']> };

const INPUT = z.object({ spec: z.string() });

/** Calls the tool of this activity type; undefined where it is none of the worker's MCP servers. */
export function callMcpTool(
  dependencies: McpDependencies,
  activityType: string,
  input: unknown,
): Promise<ToolOutput> | undefined {
  const link = linkOf(dependencies.pool, activityType);
  return link && call(dependencies, link, activityType, input);
}

function linkOf(pool: McpPool, activityType: string): ServerLink | undefined {
  const server = pool.names.find((name) => activityType.startsWith(toolActivity(`${name}__`)));
  return server === undefined ? undefined : pool.link(server);
}

async function call(
  dependencies: McpDependencies,
  link: ServerLink,
  activityType: string,
  input: unknown,
): Promise<ToolOutput> {
  const tool = await pinned(dependencies, activityType, input);
  return runTool(toolOf(tool, link), dependencies, input);
}

/** By the hash of the run's spec. */
async function pinned({ describe }: McpDependencies, activityType: string, raw: unknown): Promise<Pinned> {
  const heartbeat = startHeartbeat();
  try {
    const input = INPUT.safeParse(raw);
    if (input.success) {
      const { spec } = await loadRun(describe.cache, {
        spec: input.data.spec,
        base: { hash: '', length: 0 },
        delta: [],
      });
      const found = spec.tools.find(({ name }) => toolActivity(name) === activityType);
      if (found?.mcp !== undefined) return { ...found, mcp: found.mcp };
    }
  } finally {
    heartbeat.stop();
  }
  const message = `${activityType} is a tool of an MCP server, so its input needs the hash of the run's spec ("spec") in which that tool stands.`;
  throw ApplicationFailure.nonRetryable(message, TOOL_FAILURE.error);
}

function toolOf({ name, description, parameters, approval, timeoutMs, mcp }: Pinned, link: ServerLink): ToolDefinition {
  const decide = policyOf(link.server, mcp.tool).approval;
  return {
    name,
    description,
    parameters,
    // Where the function is gone since the run began, a person is asked.
    approval:
      approval === 'never' ? 'never' : typeof decide === 'function' ? (args) => decide(objectOf(args)) : 'always',
    timeoutMs,
    effects: 'once',
    concurrency: 'serial',
    ends: false,
    execution: 'activity',
    attempts: 1,
    execute: async (args, context) => {
      try {
        const onProgress = (note: string): void => context.heartbeat(link.hide(note));
        const options = { signal: context.signal, timeoutMs, onProgress };
        const { text, isError } = resultText(await link.callTool(mcp.tool, objectOf(args), options));
        if (isError) throw new ToolError(link.hide(text));
        return link.hide(text);
      } catch (error) {
        // As with a worker that is lost: whether a call may be made again is for its effects to say.
        if (error instanceof Lost) throw ApplicationFailure.retryable(error.message, TOOL_FAILURE.interrupted);
        throw error;
      }
    },
  };
}

function objectOf(args: unknown) {
  if (isJsonObject(args)) return args;
  throw new ToolError(`The arguments must be one object, not ${toText(args)}.`);
}
