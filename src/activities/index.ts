/** All activities of a worker, by their names on the wire. */
import { agentsByName, toolsByName, type ConfigOptions } from '../agents/define-config.js';
import {
  toolActivity,
  type CallModelInput,
  type CallModelOutput,
  type CheckOutputInput,
  type CheckOutputOutput,
  type CompactInput,
  type CompactOutput,
  type ToolOutput,
  type VerifyInput,
  type VerifyOutput,
} from '../agents/wire.js';
import type { AgentSpec } from '../agents/spec.js';
import { headAndTail } from '../conversation/cut-text.js';
import type { ModelProvider } from '../models/provider.js';
import { DEFAULT_MAX_CHARS } from './agent-spec.js';
import { callModel } from './call-model.js';
import { checkOutput } from './check-output.js';
import { compactConversation } from './compact-conversation.js';
import { describeAgent } from './describe-agent.js';
import type { RunCache } from './run-cache.js';
import { runTool } from './run-tool.js';
import { hasSearchAttributesCached } from './search-attributes.js';
import { checkOf } from './tool-arguments.js';
import { verifyWorkspace } from './verify-workspace.js';
import { DEFAULT_WORKSPACES } from './workspaces.js';

export interface ActivityDependencies extends Pick<ConfigOptions, 'agents' | 'prices' | 'workspaces'> {
  readonly provider: ModelProvider;
  readonly cache: RunCache;
  /** Aborts when the worker begins to shut down. */
  readonly shutdown: AbortSignal;
  /** Whether payloads over Temporal's limit have somewhere to go. */
  readonly storesLargePayloads: () => boolean;
}

export type Activities = Record<
  string,
  (input: never) => Promise<AgentSpec | CallModelOutput | CheckOutputOutput | CompactOutput | ToolOutput | VerifyOutput>
>;

/** @throws DefinitionError where a tool's JSON Schema does not compile. */
export function createActivities(dependencies: ActivityDependencies): Activities {
  const { agents, prices = {}, workspaces = DEFAULT_WORKSPACES, provider, cache, shutdown } = dependencies;
  const { storesLargePayloads } = dependencies;
  const byName = agentsByName(agents);
  const searchAttributes = hasSearchAttributesCached();
  const activities: Activities = {
    describeAgent: (input: unknown) =>
      describeAgent({ agents: byName, prices, cache, searchAttributes, storesLargePayloads }, input),
    callModel: (input: CallModelInput) => callModel({ provider, cache, shutdown }, input),
    compactConversation: (input: CompactInput) => compactConversation({ provider, cache, shutdown }, input),
  };
  activities['checkOutput'] = (input: CheckOutputInput) => checkOutput(agentsByName(agents), input);
  activities['verifyWorkspace'] = (input: VerifyInput) => verifyWorkspace(workspaces, input);
  const bound = async (text: string): Promise<string> => headAndTail(text, DEFAULT_MAX_CHARS);
  for (const tool of toolsByName(agents).values()) {
    if (tool.input === undefined) checkOf(tool);
    activities[toolActivity(tool.name)] = (input: unknown) => runTool(tool, { workspaces, bound }, input);
  }
  return activities;
}
