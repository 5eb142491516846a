/**
 * `defineTool`: what a user writes to give a model something to do. Safe to import anywhere, workflows included:
 * nothing here runs a tool (that is `activities/run-tool.ts`).
 */
import type { z } from 'zod';
import type { JsonObject } from '../conversation/json.js';
import type { AgentDefinition } from './define-agent.js';
import { checkApproval, checkName, DefinitionError, oneOf, onlyFields, type Fields } from './definition-error.js';
import { toMs, type Duration } from './duration.js';
import { plainParameters } from './json-schema.js';
import type { LimitOptions } from './limits.js';
import { strictParameters } from './strict-schema.js';
import { toolParameters } from './tool-schema.js';

/**
 * What running a tool twice would do: `none` reads only; `idempotent` changes the world, but twice is as once;
 * `once` must never run twice without asking.
 */
export type Effects = 'none' | 'idempotent' | 'once';

export interface ToolContext {
  /** Aborts when the run is cancelled, its deadline passes, the tool's time is up, or the worker shuts down. */
  readonly signal: AbortSignal;
  /** The same on every attempt, after worker restarts and resets; never the same for another call. */
  readonly idempotencyKey: string;
  /** Shows progress in the Temporal UI. The activity is kept alive without it. */
  readonly heartbeat: (note?: string) => void;
  readonly call: ToolCallInfo;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Absolute path of the run's own workspace folder. It exists. The same for every call and lap of the run. */
  readonly workspace: string;
}

/** Where a call stands. `runId` is the run's workflow id. */
export interface ToolCallInfo {
  readonly runId: string;
  readonly lap: number;
  readonly turn: number;
  readonly callId: string;
  readonly idempotencyKey: string;
}

interface CommonToolOptions<Args> {
  /** 1 to 64 letters, digits, `_`, `-`. The activity's type is `tool.<name>`. */
  readonly name: string;
  /** For the model: what the tool does and when to use it. */
  readonly description: string;
  /** Default `once`. */
  readonly effects?: Effects;
  /** Whether neighbours in one answer may run at the same time. Default `parallel`. */
  readonly concurrency?: 'parallel' | 'serial';
  /** Whether a person decides before it runs. A function is evaluated in an activity. Default `never`. */
  readonly approval?: 'never' | 'always' | ((args: Args) => boolean | Promise<boolean>);
  /** How long a person's decision is waited for; then the call is denied. Default: without end. */
  readonly approvalTimeout?: Duration;
  /** `true`: its result is the run's output and ends the run, after the other calls of the same answer. */
  readonly ends?: boolean;
  /** For one attempt. Default 5 minutes; 10 seconds, and no more, for `execution: 'local'`. */
  readonly timeout?: Duration;
  /** `local`: a Temporal local activity, for quick reads without effects only. Default `activity`. */
  readonly execution?: 'activity' | 'local';
  /** How often Temporal tries, at most, where `effects` allows a second try. Default 3. */
  readonly attempts?: number;
  /** Whatever it returns becomes readable text for the model; what it throws becomes an error text. */
  readonly execute: (args: Args, context: ToolContext) => unknown;
  /**
   * For `once` tools whose outcome is unknown (the worker died in between): finds out by the idempotency key.
   * Returns `{ done: true, result }` if the effect happened, `{ done: false }` if it surely did not (then it runs again).
   */
  readonly reconcile?: (idempotencyKey: string, args: Args, context: ToolContext) => Promise<Reconciled> | Reconciled;
  /**
   * `true`: the provider makes the model keep to the schema (where it can). Every field is then asked for, an optional
   * one as nullable; a null that means "left out" is taken out again before `execute`. Default false.
   */
  readonly strict?: boolean;
}

export interface ZodToolOptions<Input extends z.ZodType> extends CommonToolOptions<z.output<Input>> {
  /** A `z.object(…)`. */
  readonly input: Input;
  readonly parameters?: never;
}

export interface JsonSchemaToolOptions extends CommonToolOptions<JsonObject> {
  /**
   * A JSON Schema (2020-12 or draft 7) with `type: 'object'`, for tools without zod. It is compiled when the worker starts.
   * Formats are not checked and defaults not filled in: to JSON Schema they are words.
   */
  readonly parameters: JsonObject;
  readonly input?: never;
}

/** What {@link defineTool} takes: the arguments are described by `input` (zod) or by `parameters` (JSON Schema). */
export type ToolOptions<Input extends z.ZodType = z.ZodType> = ZodToolOptions<Input> | JsonSchemaToolOptions;

export type Reconciled = { readonly done: true; readonly result: unknown } | { readonly done: false };

/** A tool with its defaults filled in and its schema worked out. Made by {@link defineTool} only. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** Absent: arguments are checked against `parameters`. */
  readonly input?: z.ZodType;
  /** JSON Schema of the arguments, with an object at its root. */
  readonly parameters: JsonObject;
  /** Present for strict mode: what the model sees in place of `parameters`. */
  readonly strictParameters?: JsonObject;
  readonly effects: Effects;
  readonly concurrency: 'parallel' | 'serial';
  readonly approval: 'never' | 'always' | ((args: unknown) => boolean | Promise<boolean>);
  readonly approvalTimeoutMs?: number;
  readonly ends: boolean;
  readonly timeoutMs: number;
  /** Only the first two run on a worker; the others are Everlap's own (`askHuman`, `hand_off`, `agentTool`, `handoffTo`). */
  readonly execution: 'activity' | 'local' | 'question' | 'note' | 'agent' | 'handoff';
  /** For `agent` and `handoff`. */
  readonly agent?: AgentOfTool;
  /** The answer to a question that nobody answers in time. */
  readonly defaultAnswer?: string;
  readonly attempts: number;
  readonly execute: (args: unknown, context: ToolContext) => unknown;
  readonly reconcile?: (
    idempotencyKey: string,
    args: unknown,
    context: ToolContext,
  ) => Promise<Reconciled> | Reconciled;
}

export interface AgentOfTool {
  /** Called when all agents are defined: they may refer to each other. */
  readonly get: () => AgentDefinition;
  readonly limits?: LimitOptions;
  readonly maxDepth?: number;
}

const FIELDS: Fields<ToolOptions> = {
  name: true,
  description: true,
  input: true,
  parameters: true,
  effects: true,
  concurrency: true,
  approval: true,
  approvalTimeout: true,
  ends: true,
  timeout: true,
  execution: true,
  attempts: true,
  execute: true,
  reconcile: true,
  strict: true,
};
const DEFAULT_TIMEOUT_MS = 5 * 60_000;
/** A local activity holds its workflow task: what takes longer belongs into an ordinary one. */
const LOCAL_TIMEOUT_MS = 10_000;

/**
 * Defines a tool.
 * @throws DefinitionError where name, schema, timeout or a combination of policies cannot work.
 */
export function defineTool<Input extends z.ZodType>(options: ZodToolOptions<Input>): ToolDefinition;
export function defineTool(options: JsonSchemaToolOptions): ToolDefinition;
export function defineTool<Input extends z.ZodType>(options: ToolOptions<Input>): ToolDefinition {
  if (typeof options !== 'object' || options === null) throw new DefinitionError('defineTool needs an object.');
  const { name } = options;
  checkName('Tool', name);
  onlyFields(`Tool ${name}`, options, FIELDS);
  if (typeof options.description !== 'string' || options.description.trim() === '') {
    throw new DefinitionError(`Tool ${name}: it needs a description; it is all that the model knows of it.`);
  }
  if (typeof options.execute !== 'function') throw new DefinitionError(`Tool ${name}: execute must be a function.`);
  const effects = oneOf(`Tool ${name}: effects`, options.effects ?? 'once', ['none', 'idempotent', 'once']);
  const execution = oneOf(`Tool ${name}: execution`, options.execution ?? 'activity', ['activity', 'local']);
  const approval = options.approval ?? 'never';
  checkApproval(`Tool ${name}: approval`, approval);
  if (execution === 'local' && (effects !== 'none' || approval !== 'never')) {
    throw new DefinitionError(
      `Tool ${name}: execution "local" is for quick reads only; it needs effects "none" and approval "never".`,
    );
  }
  const { execute, reconcile } = options;
  if (reconcile !== undefined && typeof reconcile !== 'function') {
    throw new DefinitionError(`Tool ${name}: reconcile must be a function.`);
  }
  const schema = schemaOf(options);
  return {
    name,
    description: options.description,
    ...schema,
    ...(options.strict === true && { strictParameters: strictParameters(name, schema.parameters) }),
    effects,
    concurrency: oneOf(`Tool ${name}: concurrency`, options.concurrency ?? 'parallel', ['parallel', 'serial']),
    // The three functions are only ever called with arguments that were checked (activities/run-tool.ts).
    approval: approval as ToolDefinition['approval'],
    ends: options.ends ?? false,
    ...(options.approvalTimeout !== undefined && {
      approvalTimeoutMs: toMs(`Tool ${name}: approvalTimeout`, options.approvalTimeout),
    }),
    timeoutMs: timeoutOf(name, options.timeout, execution),
    execution,
    attempts: attemptsOf(name, options.attempts ?? 3),
    execute: execute as ToolDefinition['execute'],
    ...(reconcile && { reconcile: reconcile as NonNullable<ToolDefinition['reconcile']> }),
  };
}

function schemaOf<Input extends z.ZodType>(options: ToolOptions<Input>): Pick<ToolDefinition, 'input' | 'parameters'> {
  const { name, input, parameters } = options;
  if (input !== undefined && parameters !== undefined) {
    throw new DefinitionError(`Tool ${name}: it has both input (zod) and parameters (JSON Schema); give one of them.`);
  }
  if (parameters !== undefined) return { parameters: plainParameters(name, parameters) };
  return { input, parameters: toolParameters(name, input) };
}

function attemptsOf(tool: string, attempts: number): number {
  if (Number.isInteger(attempts) && attempts >= 1) return attempts;
  throw new DefinitionError(`Tool ${tool}: attempts is ${attempts}; it must be a whole number of at least 1.`);
}

function timeoutOf(tool: string, timeout: Duration | undefined, execution: 'activity' | 'local'): number {
  if (timeout === undefined) return execution === 'local' ? LOCAL_TIMEOUT_MS : DEFAULT_TIMEOUT_MS;
  const ms = toMs(`Tool ${tool}: timeout`, timeout);
  if (execution === 'local' && ms > LOCAL_TIMEOUT_MS) {
    throw new DefinitionError(`Tool ${tool}: timeout is ${timeout}; execution "local" allows 10 seconds at most.`);
  }
  return ms;
}
