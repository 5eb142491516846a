/** All activities of a worker, by their names on the wire. */
import { agentsByName, toolsByName, type ConfigOptions } from '../agents/define-config.js';
import {
  DEFAULT_MAX_CHARS,
  READ_RESULT_NAME,
  toolActivity,
  type CallModelInput,
  type CallModelOutput,
  type CheckOutputInput,
  type CheckOutputOutput,
  type CompactInput,
  type CompactOutput,
  type DescribeAgentOutput,
  type ToolInput,
  type ToolOutput,
  type VerifyInput,
  type VerifyOutput,
} from '../agents/wire.js';
import { boundResult, shortened } from '../artifacts/bound-result.js';
import type { ArtifactStore } from '../artifacts/artifact-store.js';
import { callMcpTool, listMcpTools } from '../mcp/activities.js';
import type { McpPool } from '../mcp/pool.js';
import type { ModelProvider } from '../models/provider.js';
import { readResult } from '../tools/read-result.js';
import { callModel } from './call-model.js';
import { checkCall } from './check-call.js';
import { checkOutput } from './check-output.js';
import { compactConversation } from './compact-conversation.js';
import { defaultActivity } from './default-activity.js';
import { describeAgent } from './describe-agent.js';
import type { RunCache } from './run-cache.js';
import { runTool, type ToolDependencies } from './run-tool.js';
import { hasSearchAttributesCached } from './search-attributes.js';
import { checkOf } from './tool-arguments.js';
import { verifyWorkspace } from './verify-workspace.js';
import { DEFAULT_WORKSPACES } from './workspaces.js';

export interface ActivityDependencies extends Pick<ConfigOptions, 'agents' | 'prices' | 'workspaces'> {
  readonly artifacts: ArtifactStore;
  readonly provider: ModelProvider;
  readonly cache: RunCache;
  /** The signal for a call that starts now; aborts when the last worker begins to shut down. */
  readonly shutdown: () => AbortSignal;
  /** Whether payloads over Temporal's limit have somewhere to go. */
  readonly storesLargePayloads: () => boolean;
  /** The MCP servers of the agents. */
  readonly mcp: McpPool;
}

type Activities = Record<
  string,
  (
    input: never,
  ) => Promise<DescribeAgentOutput | CallModelOutput | CheckOutputOutput | CompactOutput | ToolOutput | VerifyOutput>
>;

type Bound = ToolDependencies['bound'];

/** By their activity types. `runTool` checks what comes in. */
type ToolActivities = Record<string, (input: unknown) => Promise<ToolOutput>>;

/**
 * The activities of a worker, beside its own.
 * @throws DefinitionError where a tool's JSON Schema does not compile.
 */
export function createActivities(dependencies: ActivityDependencies): (theirs: object) => object {
  const { agents, prices = {}, workspaces = DEFAULT_WORKSPACES, provider, cache, shutdown } = dependencies;
  const { artifacts, storesLargePayloads, mcp } = dependencies;
  const searchAttributes = hasSearchAttributesCached();
  const describe = { agents: agentsByName(agents), prices, cache, searchAttributes, storesLargePayloads };
  const bound: Bound = (text, input, signal) => boundResult(artifacts, text, input, signal);
  const tools = toolActivities(agents, { workspaces, bound });
  const mcpTools = { describe, workspaces, bound, pool: mcp };
  const mcpTool = (type: string, input: unknown) => callMcpTool(mcpTools, type, input);
  const activities: Activities = {
    describeAgent: (input: unknown) => describeAgent(describe, input),
    callModel: (input: CallModelInput) => callModel({ provider, cache, shutdown: shutdown() }, input),
    compactConversation: (input: CompactInput) => compactConversation({ provider, cache, shutdown: shutdown() }, input),
    checkCall: (input: unknown) => checkCall((type, call) => tools[type]?.(call) ?? mcpTool(type, call), input),
    checkOutput: (input: CheckOutputInput) => checkOutput(describe.agents, input),
    verifyWorkspace: (input: VerifyInput) => verifyWorkspace(workspaces, input),
    ...(mcp.names.length > 0 && { listMcpTools: (input: unknown) => listMcpTools(mcpTools, input) }),
    ...tools,
    [toolActivity(READ_RESULT_NAME)]: (input: ToolInput) => {
      const maxChars = input.maxChars ?? DEFAULT_MAX_CHARS;
      const boundPage: Bound = async (text) => shortened(text, maxChars);
      return runTool(readResult(artifacts, maxChars), { workspaces, bound: boundPage }, input);
    },
  };
  return (theirs) => ({ ...theirs, ...activities, default: defaultActivity(mcpTool, theirs) });
}

function toolActivities(agents: ActivityDependencies['agents'], dependencies: ToolDependencies): ToolActivities {
  return Object.fromEntries(
    [...toolsByName(agents).values()].map((tool) => {
      if (tool.input === undefined) checkOf(tool);
      return [toolActivity(tool.name), (input: unknown) => runTool(tool, dependencies, input)];
    }),
  );
}
