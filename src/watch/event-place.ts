/** Event ids as places in a run's history: `<execution run id>:<history event id>:<n>`. Pure. */
import { RunArgumentError } from '../client/errors.js';

export interface Place {
  readonly id: string;
  readonly runId: string;
  readonly eventId: number;
  readonly n: number;
}

const ID = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):([1-9]\d{0,8}):(\d{1,6})$/;

/** @throws RunArgumentError for what no event has as its id. */
export function parsePlace(id: string): Place {
  const [, runId, eventId, n] = ID.exec(id) ?? [];
  if (runId === undefined) {
    throw new RunArgumentError(
      `"${id}" is no event id; they look like 0198f2a1-0000-7000-8000-000000000000:17:0, and each event has one as its id.`,
    );
  }
  return { id, runId, eventId: Number(eventId), n: Number(n) };
}

/** Negative where `a` comes first; both of one execution. */
export function comparePlaces(a: Place, b: Place): number {
  return a.eventId - b.eventId || a.n - b.n;
}
