/**
 * The spec: the serialisable description of an agent that a run pins at its start (activity `describeAgent`)
 * and carries over continue-as-new. Plain data; no functions, no zod, so that the workflow can hold it.
 */
import type { JsonObject } from '../conversation/json.js';
import type { Price } from './cost.js';
import type { OutputSchema } from '../models/provider.js';
import type { Effects } from './define-tool.js';
import type { Limits } from './limits.js';
import type { Mode } from './mode.js';
import type { SessionSpec } from './session.js';

export interface AgentSpec {
  /** Over all other fields: the key under which workers cache it. */
  readonly hash: string;
  readonly name: string;
  readonly instructions: string;
  readonly model: ModelSpec;
  readonly fallbackModels: readonly string[];
  readonly tools: readonly ToolSpec[];
  readonly limits: Limits;
  readonly onLimit: 'stop' | 'summarize';
  readonly mode: Mode;
  readonly stuckWindow: number;
  readonly context: ContextSpec;
  readonly toolResult: { readonly maxChars: number };
  readonly heartbeatTimeoutMs: number;
  /** USD per million tokens of each model that the run may use; a model without an entry has an unknown price. */
  readonly prices: Readonly<Record<string, PriceSpec>>;
  readonly laps?: LapsSpec;
  /** Present where the run stays open for more messages. */
  readonly session?: SessionSpec;
  /** The form of the answer that ends the run. */
  readonly output?: OutputSpec;
  /** Whether the namespace has Everlap's search attributes; an upsert of unregistered ones would fail every task. */
  readonly searchAttributes: boolean;
  /** Whether payloads over Temporal's limit have somewhere to go (external storage). */
  readonly storesLargePayloads: boolean;
}

/** `agent`: whose form it is. After a handoff that is still the agent before, where it had one. */
export interface OutputSpec extends OutputSchema {
  readonly agent: string;
}

export interface ModelSpec {
  readonly name: string;
  /** Requests for one turn at one model, at most. */
  readonly attempts: number;
  readonly timeoutMs: number;
  readonly firstEventTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly maxOutputTokens?: number;
  /** Put into the request as they are: temperature, reasoning_effort, … */
  readonly parameters?: JsonObject;
}

export interface ContextSpec {
  /** Tokens that the model takes. */
  readonly window: number;
  /** Share of the window at which the conversation is compacted. */
  readonly compactAt: number;
  /** Turns that compaction leaves as they are. */
  readonly keepTurns: number;
  readonly compactModel?: string;
}

export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** As the model sees them. */
  readonly parameters: JsonObject;
  /** The provider is to hold the model to `parameters`. */
  readonly strict?: true;
  readonly effects: Effects;
  readonly concurrency: 'parallel' | 'serial';
  /** `ask`: a function decides, in an activity. */
  readonly approval: 'never' | 'always' | 'ask';
  readonly timeoutMs: number;
  /**
   * `question`: a person answers. `note`: it is kept for the next lap. `agent`: a child run. `handoff`: another agent goes
   * on. No activity runs for these.
   */
  readonly execution: 'activity' | 'local' | 'question' | 'note' | 'agent' | 'handoff';
  /** For `agent` and `handoff`. */
  readonly agent?: AgentToolSpec;
  readonly attempts: number;
  readonly reconciles?: true;
  /** How long a decision or an answer is waited for; absent: without end. */
  readonly approvalTimeoutMs?: number;
  /** The answer to a question that nobody answers in time. */
  readonly defaultAnswer?: string;
  /** Its result is the run's output, and ends the run. */
  readonly ends?: true;
  /** A tool of an MCP server, by that server's own name for it. */
  readonly mcp?: { readonly server: string; readonly tool: string };
}

export interface AgentToolSpec {
  readonly name: string;
  /** The agent's own, and the tool's before them. */
  readonly limits?: Limits;
  /** Levels of children below a run that no agent has called. */
  readonly maxDepth?: number;
}

export interface LapsSpec {
  readonly max: number;
  readonly until: { readonly promise: string } | { readonly verify: string };
  readonly handoff: 'workspace' | 'note';
  readonly maxFailed: number;
  readonly spec: 'pinned' | 'per-lap';
}

/** USD per million tokens. */
export type PriceSpec = Price;
