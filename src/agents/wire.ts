/**
 * Names on the wire and what travels under them, for both sides of the sandbox. These are public: people type them
 * into the Temporal UI, and histories hold them. Changing one is a breaking change.
 */
import type { AgentSpec } from './spec.js';
import type { ToolCallInfo } from './define-tool.js';
import type { CompactionPlan } from '../conversation/compaction.js';
import type { AssistantMessage, Head, JsonObject, Message, Usage } from '../conversation/message.js';

export const WORKFLOW_TYPE = 'agentRun';

/** The activity type of a tool. */
export function toolActivity(name: string): string {
  return `tool.${name}`;
}

export interface DescribeAgentInput {
  readonly agent: string;
  readonly task: string;
  readonly settings?: unknown;
  /** The agent whose form the run's answer has to have, where that is not the agent's own matter (a handoff). */
  readonly form?: string;
}

/** `mcp`: servers whose tools `listMcpTools` has to list, which then answers with the spec. */
export type DescribeAgentOutput = AgentSpec | { readonly mcp: readonly string[] };

/** Every field costs history once a turn: keep it small, leave out what is as usual. */
export interface CallModelInput {
  /** Hash of the spec that has instructions and tools. */
  readonly spec: string;
  readonly lap: number;
  readonly turn: number;
  /** What workers know already. */
  readonly base: Head;
  /** The messages after it. */
  readonly delta: readonly Message[];
  readonly model: string;
  /** Present where the model must answer without tools. */
  readonly tools?: 'none';
  readonly maxOutputTokens?: number;
  /** Milliseconds since the epoch: no retry waits past it. */
  readonly deadline?: number;
}

export interface CallModelOutput {
  readonly message: AssistantMessage;
  readonly usage: Usage;
  /** Chain hash over base, delta and `message`. */
  readonly head: string;
  /** Present where the output limit cut the answer off. */
  readonly finish?: 'length';
}

export interface ToolInput {
  readonly args: JsonObject;
  readonly call: ToolCallInfo;
  /** Asks the tool's `reconcile` for the outcome of an earlier attempt, instead of running it. */
  readonly reconcile?: true;
  /** Characters of the result that the model sees; absent: {@link DEFAULT_MAX_CHARS}. */
  readonly maxChars?: number;
  /** Present where a longer result is not kept whole: the model has no `read_result`. */
  readonly stored?: false;
  /** Asks whether the arguments are right and a person must approve, instead of running it: so does `checkCall`. */
  readonly gate?: true;
  /** For tools of MCP servers: the hash of the run's spec, in which the tool is described. */
  readonly spec?: string;
}

/** Input of `checkCall`: are the arguments right, and does the call need an approval? */
export interface CheckCallInput extends ToolInput {
  /** The tool's name. An activity type of its own, since a tool's may be another worker's, which would run the call. */
  readonly tool: string;
}

export const DEFAULT_MAX_CHARS = 20_000;
/** Characters of all results of one turn together, shared out among its calls: they are messages of one conversation. */
export const MAX_TURN_CHARS = 400_000;

/** The built-in tool by which a model reads results that are longer. */
export const READ_RESULT_NAME = 'read_result';

/** `done: false` answers `reconcile` only: the effect surely did not happen. `ask` answers `gate` only. */
export type ToolOutput =
  { readonly text: string; readonly isError?: true } | { readonly done: false } | { readonly ask: boolean };

export interface CompactInput {
  readonly spec: string;
  readonly lap: number;
  readonly turn: number;
  readonly base: Head;
  readonly delta: readonly Message[];
  readonly model: string;
  /** Tokens, by Everlap's own estimate, that the messages may have afterwards. */
  readonly targetTokens: number;
}

/** Attempts of `compactConversation`; the last one does without a summary rather than fail. */
export const MAX_SUMMARY_ATTEMPTS = 4;

export interface CompactOutput {
  /** What to do to the conversation; the workflow does it, so that only the summary is in history. */
  readonly plan: CompactionPlan;
  /** Chain hash over the compacted conversation. */
  readonly head?: string;
  readonly usage?: Usage;
  /** Why there is no summary, where there should be one. */
  readonly problem?: string;
}

export interface CheckOutputInput {
  readonly agent: string;
  readonly answer: string;
}

export interface CheckOutputOutput {
  /** What is wrong with the answer, for the model; absent where it has the agent's form. */
  readonly problem?: string;
}

export interface VerifyInput {
  readonly command: string;
  readonly call: { readonly runId: string; readonly lap: number };
}

export interface VerifyOutput {
  readonly exitCode: number;
  readonly output: string;
}

/** Memo under which a cancelled run leaves its result: a workflow that is cancelled returns none. */
export const RESULT_MEMO = 'everlapResult';

/** Beyond a tool's own timeout, for its worker to end it, to store its result and to say so. */
export const TOOL_GRACE_MS = 5000;

/** Failure types of tool activities that the workflow tells apart. */
export const TOOL_FAILURE = {
  /** The tool threw: its words are for the model. */
  error: 'ToolError',
  /** The tool's time was up; what it did by then is unknown. */
  timeout: 'ToolTimeout',
  /** The worker shut down while the tool ran; what it did by then is unknown. */
  interrupted: 'ToolInterrupted',
} as const;

/**
 * Failure type of `callModel` when its worker shut down: another worker takes the call at once. Its details: the number
 * of the attempt that does not count.
 */
export const WORKER_SHUTDOWN = 'worker_shutdown';
/** Failure type of an activity that could not get the run's conversation: the model was not asked. */
export const NOT_LOADED = 'not_loaded';
/**
 * Failure type where the run's messages do not have the hash of `base` (other code made them, before a deploy): the run
 * sends its conversation anew.
 */
export const UNKNOWN_HEAD = 'unknown_head';

/** Failure types of `describeAgent` that end a run at once. */
export const DESCRIBE_FAILURE = { unknownAgent: 'unknown_agent', badRequest: 'bad_request' } as const;

/** Failure type of an update that comes when the end is decided. */
export const RUN_ENDED = 'RunEnded';
/** Failure type of an update whose argument is refused. */
export const BAD_ARGUMENT = 'BadArgument';
