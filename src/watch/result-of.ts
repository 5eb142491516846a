/** From however an execution was closed to the run's AgentResult: what `RunHandle.result()` gives, read off history. Pure. */
import type { AgentResult } from '../agents/result.js';
import type { Closed } from './history-event.js';
import type { Tally } from './tally.js';
import { parseResult } from './wire-shapes.js';

/**
 * @param left the result that the run left in its memo: a cancelled workflow returns none.
 * @param tally for a run that was ended from outside and left nothing.
 */
export function resultOf(how: Closed, left: AgentResult | undefined, tally: Tally, laps: number): AgentResult {
  switch (how.status) {
    case 'completed': {
      const problem = 'it ended with something that is no AgentResult';
      return parseResult(how.result) ?? tally.endedFromOutside('failed', laps, problem);
    }
    case 'failed':
      return parseResult(firstDetail(how.error)) ?? tally.endedFromOutside('failed', laps, how.error.message);
    case 'cancelled':
      return left ?? tally.endedFromOutside('cancelled', laps, 'Workflow canceled');
    default:
      return tally.endedFromOutside('failed', laps, how.message);
  }
}

/** Where a failed run leaves its result. */
export function firstDetail(error: Error): unknown {
  return 'details' in error && Array.isArray(error.details) ? error.details[0] : undefined;
}
