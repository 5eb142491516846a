/** The `settings` of a run's input as a schema: what may be otherwise for one run. Unknown fields are refused, not ignored. */
import { z } from 'zod';

const WHOLE = z.number().int().min(1);
const DURATION = z.union([z.number().positive(), z.string().min(1)]);

const MODEL = z.strictObject({
  name: z.string().min(1),
  attempts: WHOLE.optional(),
  timeout: DURATION.optional(),
  firstEventTimeout: DURATION.optional(),
  idleTimeout: DURATION.optional(),
  maxOutputTokens: WHOLE.optional(),
  parameters: z.record(z.string(), z.json()).optional(),
});

const LIMITS = z.strictObject({
  turns: WHOLE.optional(),
  tokens: WHOLE.optional(),
  usd: z.number().positive().optional(),
  duration: DURATION.optional(),
  toolCalls: WHOLE.optional(),
});

const LAPS = z.strictObject({
  max: WHOLE,
  until: z.union([z.strictObject({ promise: z.string() }), z.strictObject({ verify: z.string() })]),
  handoff: z.enum(['workspace', 'note']).optional(),
  maxFailed: WHOLE.optional(),
  spec: z.enum(['pinned', 'per-lap']).optional(),
});

export const SETTINGS = z.strictObject({
  model: z.union([z.string().min(1), MODEL]).optional(),
  fallbackModels: z.array(z.string().min(1)).optional(),
  limits: LIMITS.optional(),
  onLimit: z.enum(['stop', 'summarize']).optional(),
  mode: z.enum(['ask', 'auto', 'plan']).optional(),
  stuckWindow: z.number().int().min(2).optional(),
  context: z
    .strictObject({
      window: WHOLE.optional(),
      compactAt: z.number().positive().max(1).optional(),
      keepTurns: WHOLE.optional(),
      compactModel: z.string().min(1).optional(),
    })
    .optional(),
  toolResult: z.strictObject({ maxChars: WHOLE.optional(), readResult: z.boolean().optional() }).optional(),
  /** null: none, whatever the agent's definition says. */
  laps: LAPS.nullable().optional(),
  /** null: none. */
  session: z.strictObject({ idleTimeout: DURATION.optional(), limits: LIMITS.optional() }).nullable().optional(),
});

export type Settings = z.output<typeof SETTINGS>;
