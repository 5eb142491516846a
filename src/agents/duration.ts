/** Durations as users write them. Safe anywhere, workflows included. */
import { msToNumber } from '@temporalio/common/lib/time.js';
import { DefinitionError, shown } from './definition-error.js';

/**
 * Milliseconds, or a text as Temporal takes it everywhere: `'30 seconds'`, `'2 hours'`, `'1d'`.
 * (Temporal's own type is made by the package `ms`, whose types a NodeNext project cannot see.)
 */
export type Duration = number | string;

/** 100 years: a server refuses timers far beyond it, which would hang the run that asked for one. */
const MAX_MS = 36_525 * 24 * 3600 * 1000;

/**
 * Milliseconds of a duration, at least 1 and at most 100 years.
 * @throws DefinitionError, beginning with `what`, where it is none.
 */
export function toMs(what: string, duration: Duration): number {
  let ms: number;
  try {
    ms = msToNumber(duration);
  } catch {
    ms = Number.NaN;
  }
  if (ms >= 1 && ms <= MAX_MS) return ms;
  throw new DefinitionError(
    `${what} is ${shown(duration)}; it must be a duration such as "30 seconds" or a number of milliseconds, of at most 100 years.`,
  );
}
