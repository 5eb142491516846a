/**
 * The activities `tool.<name>`: one call of one tool. Checks the arguments, runs the tool under its time limit, and makes
 * readable text of whatever comes back. A tool that ran is never run again because its result was awkward.
 */
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { z } from 'zod';
import type { ToolContext, ToolDefinition } from '../agents/define-tool.js';
import { ToolError } from '../agents/tool-error.js';
import {
  DEFAULT_MAX_CHARS,
  TOOL_FAILURE,
  TOOL_GRACE_MS,
  toolActivity,
  type ToolInput,
  type ToolOutput,
} from '../agents/wire.js';
import { shortened } from '../artifacts/bound-result.js';
import { cutText } from '../conversation/cut-text.js';
import { errorText } from './error-text.js';
import { startHeartbeat, type Heartbeat } from './heartbeat.js';
import { afterMs } from './long-timer.js';
import { ABANDONED, settleWithin } from './settle-within.js';
import { toText } from './to-text.js';
import { checkArguments } from './tool-arguments.js';
import { openWorkspaceOf } from './workspaces.js';

/** For a tool to end by itself after its signal has aborted, before it is left behind. */
const ABORT_GRACE_MS = 1000;
const INTERRUPTED_RETRY_DELAY_MS = 100;
const STORING_MARGIN_MS = 1500;
const MAX_STORING_MS = 60_000;

export interface ToolDependencies {
  readonly workspaces: string;
  /** Stores what is too long for the model, in the time that is left, and gives the text that it sees instead. */
  readonly bound: (text: string, input: ToolInput, signal: AbortSignal) => Promise<string>;
}

const INPUT = z.object({
  args: z.record(z.string(), z.json()),
  call: z.object({
    runId: z.string(),
    lap: z.number(),
    turn: z.number(),
    callId: z.string(),
    idempotencyKey: z.string(),
  }),
  reconcile: z.literal(true).optional(),
  maxChars: z.number().optional(),
  stored: z.literal(false).optional(),
  gate: z.literal(true).optional(),
});

export async function runTool(tool: ToolDefinition, dependencies: ToolDependencies, raw: unknown): Promise<ToolOutput> {
  const { cancellationSignal } = Context.current();
  const heartbeat = startHeartbeat();
  const startedAt = Date.now();
  const timeUp = new AbortController();
  const stopTimer = afterMs(tool.timeoutMs, () => timeUp.abort(new Error(`${tool.name}: its time is up.`)));
  const signal = AbortSignal.any([cancellationSignal, timeUp.signal]);
  let started = false;
  try {
    const input = parseInput(tool, raw);
    const onStart = (): void => void (started = true);
    const work = (): Promise<Done> => run(tool, dependencies, input, { signal, heartbeat, onStart });
    const done = await settleWithin(work, signal, ABORT_GRACE_MS).catch((error: unknown) => {
      throw failureOf(error);
    });
    if (done === ABANDONED) throw abandoned(tool, started);
    if (!('result' in done)) return done;
    return { text: await boundedText(dependencies, toText(done.result), input, storing(tool, startedAt)) };
  } finally {
    stopTimer();
    heartbeat.stop();
  }
}

/** What the tool returned, or an output that says why it was not run. */
type Done = { readonly result: unknown } | ToolOutput;

interface Running {
  readonly signal: AbortSignal;
  readonly heartbeat: Heartbeat;
  /** The checks are done: from here on there may be effects. */
  readonly onStart: () => void;
}

/** All that is the user's own code: checks of the arguments, the question of approval, the tool itself. */
async function run(
  tool: ToolDefinition,
  { workspaces }: ToolDependencies,
  input: ToolInput,
  { signal, heartbeat, onStart }: Running,
): Promise<Done> {
  const args = await checkArguments(tool, input.args);
  if ('text' in args) return args;
  if (input.gate) return { ask: await needsApproval(tool, args.value) };
  const context: ToolContext = {
    signal,
    idempotencyKey: input.call.idempotencyKey,
    heartbeat: (note) => heartbeat.progress(note === undefined ? undefined : cutText(String(note), 2000)),
    call: input.call,
    attempt: Context.current().info.attempt,
    workspace: await openWorkspaceOf(workspaces, input.call.runId),
  };
  onStart();
  return invoke(tool, input, args.value, context);
}

/** A tool that ran is not run again because something is wrong with its result. */
async function boundedText(
  { bound }: ToolDependencies,
  text: string,
  input: ToolInput,
  signal: AbortSignal,
): Promise<string> {
  try {
    return await bound(text, input, signal);
  } catch (error) {
    const note = `\n(The whole result could not be stored: ${errorText(error)})`;
    return shortened(text + note, input.maxChars ?? DEFAULT_MAX_CHARS);
  }
}

/** Aborts a little before Temporal would give the activity up, result and all; or with the run or its worker. */
function storing(tool: ToolDefinition, startedAt: number): AbortSignal {
  const left = startedAt + tool.timeoutMs + TOOL_GRACE_MS - STORING_MARGIN_MS - Date.now();
  const time = AbortSignal.timeout(Math.max(0, Math.min(left, MAX_STORING_MS)));
  return AbortSignal.any([Context.current().cancellationSignal, time]);
}

async function needsApproval({ approval }: ToolDefinition, args: unknown): Promise<boolean> {
  return typeof approval === 'function' ? approval(args) : approval === 'always';
}

async function invoke(tool: ToolDefinition, input: ToolInput, args: unknown, context: ToolContext): Promise<Done> {
  if (input.reconcile === undefined) return { result: await tool.execute(args, context) };
  if (tool.reconcile === undefined) throw new ToolError(`${tool.name} has no reconcile; its outcome stays unknown.`);
  const answer = await tool.reconcile(context.idempotencyKey, args, context);
  return answer.done ? { result: answer.result } : { done: false };
}

/** What the workflow sends is right by its types; this is for those who schedule a tool's activity themselves. */
function parseInput(tool: ToolDefinition, raw: unknown): ToolInput {
  const input = INPUT.safeParse(raw);
  if (input.success) return input.data;
  const message = `${toolActivity(tool.name)} needs { args, call: { runId, lap, turn, callId, idempotencyKey } }: ${z.prettifyError(input.error)}`;
  throw ApplicationFailure.nonRetryable(message, TOOL_FAILURE.error);
}

/** The tool did not end after its signal: its time was up, the worker shuts down, or the run was cancelled. */
function abandoned(tool: ToolDefinition, started: boolean): unknown {
  const { cancellationSignal, cancellationDetails } = Context.current();
  if (cancellationDetails?.workerShutdown === true) {
    return ApplicationFailure.create({
      type: TOOL_FAILURE.interrupted,
      message: 'its worker shut down while it ran',
      nextRetryDelay: INTERRUPTED_RETRY_DELAY_MS,
    });
  }
  if (cancellationSignal.aborted) return cancellationSignal.reason;
  return ApplicationFailure.create({
    // A check of the arguments that hangs leaves nothing unknown.
    type: started ? TOOL_FAILURE.timeout : TOOL_FAILURE.error,
    message: `it took longer than ${tool.timeoutMs / 1000} seconds and was stopped`,
  });
}

/**
 * What a tool threw, as a bounded text: failures of Temporal's too, which may hold anything, and would otherwise mean
 * something to Temporal (a CancelledFailure out of a tool is not the run's end).
 */
function failureOf(error: unknown): ApplicationFailure {
  const own = error instanceof ApplicationFailure ? error : undefined;
  // A tool that lost whom it was asking says so itself: nobody knows the outcome then.
  if (own?.type === TOOL_FAILURE.interrupted) {
    return ApplicationFailure.create({ type: TOOL_FAILURE.interrupted, message: cutText(own.message, 2000) });
  }
  return ApplicationFailure.create({
    type: TOOL_FAILURE.error,
    message: errorText(error),
    nonRetryable: isToolError(error) || own?.nonRetryable === true,
  });
}

/** By its name: a config file may have loaded the package a second time. */
function isToolError(error: unknown): boolean {
  return error instanceof Error && error.name === 'ToolError';
}
