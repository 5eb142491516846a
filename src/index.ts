/** What users import to define agents and tools. Safe anywhere, workflows included: nothing here needs Node. */
export { defineAgent } from './agents/define-agent.js';
export type {
  AgentDefinition,
  AgentOptions,
  AgentWithOutput,
  ContextOptions,
  LapsOptions,
  ModelOptions,
} from './agents/define-agent.js';
export { defineConfig } from './agents/define-config.js';
export type { Config, ConfigOptions } from './agents/define-config.js';
export { agentTool } from './agents/agent-tool.js';
export type { AgentReference, AgentToolOptions } from './agents/agent-tool.js';
export { handoffTo } from './agents/handoff-to.js';
export type { HandoffOptions } from './agents/handoff-to.js';
export { askHuman } from './agents/ask-human.js';
export type { AskHumanOptions } from './agents/ask-human.js';
export { defineTool } from './agents/define-tool.js';
export type {
  Effects,
  Reconciled,
  ToolCallInfo,
  JsonSchemaToolOptions,
  ToolContext,
  ToolDefinition,
  ToolOptions,
  ZodToolOptions,
} from './agents/define-tool.js';
export { DefinitionError } from './agents/definition-error.js';
export { mcpServer } from './mcp/define-server.js';
export type {
  McpHttpOptions,
  McpProcessOptions,
  McpServerDefinition,
  McpServerOptions,
  McpToolPolicy,
} from './mcp/define-server.js';
export type { Duration } from './agents/duration.js';
export type { LimitOptions, Limits } from './agents/limits.js';
export type { Mode } from './agents/mode.js';
export type { SessionOptions } from './agents/session.js';
export type { AgentResult, Reason, Status, UnconsumedText } from './agents/result.js';
export type { AgentRunInput, RunSettings } from './agents/run-input.js';
export type { PriceSpec } from './agents/spec.js';
export type { JsonObject } from './conversation/json.js';
export type { AssistantMessage, Message, ToolCall, ToolMessage, Usage, UserMessage } from './conversation/message.js';
export type {
  FailureClass,
  ModelAnswer,
  ModelProvider,
  ModelRequest,
  OutputSchema,
  StreamDelta,
} from './models/provider.js';
export { ModelFailure } from './models/provider.js';
export { ToolError } from './agents/tool-error.js';
