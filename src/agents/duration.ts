/** Durations as users write them. Safe anywhere, workflows included. */
import { msToNumber } from '@temporalio/common/lib/time.js';
import { DefinitionError } from './definition-error.js';

/**
 * Milliseconds, or a text as Temporal takes it everywhere: `'30 seconds'`, `'2 hours'`, `'1d'`.
 * (Temporal's own type is made by the package `ms`, whose types a NodeNext project cannot see.)
 */
export type Duration = number | string;

/**
 * Milliseconds of a duration, at least 1.
 * @throws DefinitionError, beginning with `what`, where it is none.
 */
export function toMs(what: string, duration: Duration): number {
  let ms: number;
  try {
    ms = msToNumber(duration);
  } catch {
    ms = Number.NaN;
  }
  if (Number.isFinite(ms) && ms >= 1) return ms;
  throw new DefinitionError(
    `${what} is ${JSON.stringify(duration)}; it must be a duration such as "30 seconds" or a number of milliseconds.`,
  );
}
