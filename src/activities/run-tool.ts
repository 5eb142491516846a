/**
 * The activities `tool.<name>`: one call of one tool. Checks the arguments, runs the tool under its time limit, and makes
 * readable text of whatever comes back. A tool that ran is never run again because its result was awkward.
 */
import { Context } from '@temporalio/activity';
import { ApplicationFailure, TemporalFailure } from '@temporalio/common';
import { z } from 'zod';
import type { ToolContext, ToolDefinition } from '../agents/define-tool.js';
import { ToolError } from '../agents/tool-error.js';
import { TOOL_FAILURE, toolActivity, type ToolInput, type ToolOutput } from '../agents/wire.js';
import { cutText } from '../conversation/cut-text.js';
import { errorText } from './error-text.js';
import { startHeartbeat } from './heartbeat.js';
import { ABANDONED, settleWithin } from './settle-within.js';
import { toText } from './to-text.js';
import { checkArguments } from './tool-arguments.js';
import { openWorkspaceOf } from './workspaces.js';

/** For a tool to end by itself after its signal has aborted, before it is left behind. */
const ABORT_GRACE_MS = 1000;
const INTERRUPTED_RETRY_DELAY_MS = 100;

export interface ToolDependencies {
  readonly workspaces: string;
  /** Stores what is too long for the model, and gives the text that it sees instead. */
  readonly bound: (text: string, input: ToolInput) => Promise<string>;
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
  gate: z.literal(true).optional(),
});

export async function runTool(tool: ToolDefinition, dependencies: ToolDependencies, raw: unknown): Promise<ToolOutput> {
  const { cancellationSignal, info } = Context.current();
  const heartbeat = startHeartbeat();
  const timeUp = new AbortController();
  const timer = setTimeout(() => timeUp.abort(new Error(`${tool.name}: its time is up.`)), tool.timeoutMs);
  try {
    const input = parseInput(tool, raw);
    const args = await checkArguments(tool, input.args);
    if ('text' in args) return args;
    if (input.gate) return { ask: await needsApproval(tool, args.value) };
    const signal = AbortSignal.any([cancellationSignal, timeUp.signal]);
    const context: ToolContext = {
      signal,
      idempotencyKey: input.call.idempotencyKey,
      heartbeat: (note) => heartbeat.progress(note === undefined ? undefined : cutText(String(note), 2000)),
      call: input.call,
      attempt: info.attempt,
      workspace: await openWorkspaceOf(dependencies.workspaces, input.call.runId),
    };
    const result = await settleWithin(() => invoke(tool, input, args.value, context), signal, ABORT_GRACE_MS);
    if (result === ABANDONED) throw abandoned(tool);
    return result === NOT_DONE ? { done: false } : { text: await dependencies.bound(toText(result), input) };
  } catch (error) {
    throw toFailure(error);
  } finally {
    clearTimeout(timer);
    heartbeat.stop();
  }
}

async function needsApproval({ approval }: ToolDefinition, args: unknown): Promise<boolean> {
  return typeof approval === 'function' ? approval(args) : approval === 'always';
}

/** A reconciled call whose effect surely did not happen. */
const NOT_DONE = Symbol('not done');

async function invoke(tool: ToolDefinition, input: ToolInput, args: unknown, context: ToolContext): Promise<unknown> {
  if (input.reconcile === undefined) return tool.execute(args, context);
  if (tool.reconcile === undefined) throw new ToolError(`${tool.name} has no reconcile; its outcome stays unknown.`);
  const answer = await tool.reconcile(context.idempotencyKey, args, context);
  return answer.done ? answer.result : NOT_DONE;
}

/** What the workflow sends is right by its types; this is for those who schedule a tool's activity themselves. */
function parseInput(tool: ToolDefinition, raw: unknown): ToolInput {
  const input = INPUT.safeParse(raw);
  if (input.success) return input.data;
  const message = `${toolActivity(tool.name)} needs { args, call: { runId, lap, turn, callId, idempotencyKey } }: ${z.prettifyError(input.error)}`;
  throw ApplicationFailure.nonRetryable(message, TOOL_FAILURE.error);
}

/** The tool did not end after its signal: its time was up, the worker shuts down, or the run was cancelled. */
function abandoned(tool: ToolDefinition): unknown {
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
    type: TOOL_FAILURE.timeout,
    message: `it took longer than ${tool.timeoutMs / 1000} seconds and was stopped`,
  });
}

/** Temporal's own failures pass; a tool's become a bounded text. */
function toFailure(error: unknown): unknown {
  if (error instanceof TemporalFailure) return error;
  return ApplicationFailure.create({
    type: TOOL_FAILURE.error,
    message: errorText(error),
    nonRetryable: error instanceof ToolError,
  });
}
