/** What a run may use up. Limits as users write them, and as the run counts them. Pure; no Node, no zod. */
import { DefinitionError, onlyFields, shown, type Fields } from './definition-error.js';
import { toMs, type Duration } from './duration.js';

/** As written in a definition, in `settings`, in `setLimits`. All optional; what is absent does not limit. */
export interface LimitOptions {
  /** Answered model calls, over all laps. Default 100. */
  readonly turns?: number;
  /** Input and output tokens together, over all laps. */
  readonly tokens?: number;
  /** US dollars; needs a known price for each model. */
  readonly usd?: number;
  /** From the start of the run, pauses and waiting included. */
  readonly duration?: Duration;
  /** Tool calls that were run. */
  readonly toolCalls?: number;
}

/** As the run counts them: numbers only. */
export interface Limits {
  readonly turns?: number;
  readonly tokens?: number;
  readonly usd?: number;
  readonly durationMs?: number;
  readonly toolCalls?: number;
}

export const DEFAULT_TURNS = 100;

const WHOLE = ['turns', 'tokens', 'toolCalls'] as const;
const FIELDS: Fields<LimitOptions> = { turns: true, tokens: true, usd: true, duration: true, toolCalls: true };

/**
 * Checks limits that came from anywhere: a definition, the CLI, a signal.
 * @param where how the error sentence begins, e.g. `Agent clerk`.
 * @throws DefinitionError naming the field, for a limit below 1, an unknown one, or no object.
 */
export function parseLimits(where: string, value: unknown): Limits {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new DefinitionError(`${where}: limits must be an object such as { turns: 50, duration: "2 hours" }.`);
  }
  onlyFields(`${where}: limits`, value, FIELDS);
  const given = new Map<string, unknown>(Object.entries(value).filter(([, limit]) => limit !== undefined));
  const limits: { -readonly [Field in keyof Limits]: Limits[Field] } = {};
  for (const field of WHOLE) {
    if (given.has(field)) limits[field] = wholeNumber(`${where}: limits.${field}`, given.get(field));
  }
  if (given.has('usd')) limits.usd = positive(`${where}: limits.usd`, given.get('usd'));
  if (given.has('duration')) {
    const duration = given.get('duration');
    const isDuration = (candidate: unknown): candidate is Duration =>
      typeof candidate === 'string' || typeof candidate === 'number';
    if (!isDuration(duration)) throw new DefinitionError(`${where}: limits.duration must be a string or milliseconds.`);
    limits.durationMs = toMs(`${where}: limits.duration`, duration);
  }
  return limits;
}

/** As people write them. */
export function limitOptions({ durationMs, ...limits }: Limits): LimitOptions {
  return { ...limits, ...(durationMs !== undefined && { duration: durationMs }) };
}

function wholeNumber(what: string, value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return value;
  throw new DefinitionError(`${what} is ${shown(value)}; it must be a whole number of at least 1.`);
}

function positive(what: string, value: unknown): number {
  if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value;
  throw new DefinitionError(`${what} is ${shown(value)}; it must be a number above 0.`);
}
