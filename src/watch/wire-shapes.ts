/**
 * What a watcher reads of the values in a run's history, checked. Loose: fields that it does not need are not looked at,
 * so that a run of a newer worker can be watched by an older client.
 */
import { z } from 'zod';
import type { AgentResult } from '../agents/result.js';
import { stateOf } from '../workflows/carried.js';

const USAGE = z.object({
  input: z.number(),
  output: z.number(),
  cachedInput: z.number().optional(),
  reasoning: z.number().optional(),
  thinking: z.number().optional(),
  estimated: z.literal(true).optional(),
});

const RATES = z.object({ input: z.number(), output: z.number(), cachedInput: z.number().optional() });
const PRICES = z.record(z.string(), RATES.extend({ long: RATES.extend({ over: z.number() }).optional() }));

/** A message of a conversation, as it stands in a delta or in a carried state. */
export const MESSAGE = z.looseObject({
  role: z.string(),
  kind: z.string().optional(),
  text: z.string().default(''),
  callId: z.string().optional(),
  name: z.string().optional(),
  isError: z.literal(true).optional(),
});
export type SeenMessage = z.infer<typeof MESSAGE>;

export const SPEC = z.object({
  prices: PRICES,
  tools: z.array(z.object({ name: z.string(), execution: z.string(), approval: z.string() })),
  toolResult: z.object({ maxChars: z.number() }).optional(),
});
export type SeenSpec = z.infer<typeof SPEC>;

/** The state that continue-as-new carries. */
const CARRIED = z.object({
  state: z.object({
    lap: z.number(),
    turns: z.number(),
    toolCalls: z.number(),
    usage: USAGE,
    costUsd: z.number().nullable(),
    transition: z.string(),
    conversation: z.object({ messages: z.array(MESSAGE) }),
  }),
  spec: SPEC.optional(),
});
export type Carried = z.infer<typeof CARRIED>;

/** The conversation carried has the task again, as real messages have it. */
export const RUN_INPUT = z
  .object({
    agent: z.string().optional(),
    task: z.string().optional(),
    carried: CARRIED.optional(),
  })
  .transform(({ carried, ...input }) =>
    carried === undefined || input.task === undefined
      ? { ...input, carried }
      : { ...input, carried: { ...carried, state: stateOf(carried, input.task) } },
  );

/** The input of a run that another run has started. */
export const CHILD_INPUT = z.object({
  agent: z.string(),
  task: z.string(),
  parent: z.object({ callId: z.string() }),
});

/** What calls of the model and compactions have in common. */
const TURN = z.object({
  lap: z.number(),
  turn: z.number(),
  base: z.object({ length: z.number() }),
  delta: z.array(MESSAGE),
  model: z.string(),
});
export type SeenTurn = z.infer<typeof TURN>;

export const MODEL_INPUT = TURN.extend({ tools: z.literal('none').optional() });

export const MODEL_OUTPUT = z.object({
  message: z.object({
    text: z.string(),
    toolCalls: z.array(z.object({ id: z.string(), name: z.string(), arguments: z.string() })).default([]),
    reasoning: z.string().optional(),
    model: z.string().optional(),
  }),
  usage: USAGE,
  finish: z.literal('length').optional(),
});

export const TOOL_INPUT = z.object({
  args: z.record(z.string(), z.json()),
  call: z.object({ callId: z.string() }),
  reconcile: z.literal(true).optional(),
});

export const TOOL_OUTPUT = z.object({ text: z.string(), isError: z.literal(true).optional() });

export const COMPACT_INPUT = TURN;

export const COMPACT_OUTPUT = z.object({
  plan: z.object({ summary: z.string().optional() }),
  usage: USAGE.optional(),
  problem: z.string().optional(),
});

export const VERIFY_INPUT = z.object({ command: z.string() });

export const VERIFY_OUTPUT = z.object({ exitCode: z.number(), output: z.string() });

/** Written by Temporal's core beside the result of a local activity. `backoff`: it is tried again later. */
export const LOCAL_ACTIVITY = z.object({
  seq: z.number(),
  activity_type: z.string(),
  backoff: z.unknown().optional(),
});

/** Heartbeat details of `callModel`: `StreamProgress`. */
export const STREAM_PROGRESS = z.object({
  turn: z.number(),
  attempt: z.number(),
  length: z.number(),
  text: z.string(),
  thinking: z.number().optional(),
});

/** Only what a reader relies on: a newer worker may say more. */
const RESULT = z.looseObject({
  status: z.enum(['completed', 'exhausted', 'stopped', 'failed', 'cancelled']),
  reason: z.string(),
  output: z.string().nullable(),
  turns: z.number(),
  laps: z.number(),
  toolCalls: z.number(),
  usage: USAGE,
  costUsd: z.number().nullable(),
  unconsumedSteering: z.array(
    z.object({ kind: z.enum(['steer', 'followUp']), text: z.string(), id: z.string().optional() }),
  ),
  error: z.string().optional(),
  forceFinishReason: z.string().optional(),
});

/** undefined for what is no AgentResult. A reason of a newer worker is passed on as it is. */
export function parseResult(value: unknown): AgentResult | undefined {
  const parsed = RESULT.safeParse(value);
  return parsed.success ? (parsed.data as AgentResult) : undefined;
}
