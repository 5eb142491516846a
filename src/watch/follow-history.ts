/** The agent events of a whole run: over all its executions, from its start or from any event on. */
import type { Client } from '@temporalio/client';
import { RunArgumentError, RunNotFoundError } from '../client/errors.js';
import type { AgentEvent } from './agent-event.js';
import { HistoryDecoder } from './decode-history.js';
import { comparePlaces, parsePlace, type Place } from './event-place.js';
import { firstExecution, isNotFound, resetOf } from './executions.js';
import { HistoryTranslator } from './history-events.js';
import { ABORTED } from '../waiting/interruptible.js';
import { persistently } from './persistently.js';
import { readHistory, type Reading } from './read-history.js';

export interface EventsOptions {
  /** The id of the last event that was seen: begins with the one after it, without a gap. Default: from the start. */
  readonly after?: string;
  /** Ends the events at once, without an error. */
  readonly signal?: AbortSignal;
  /** Default true: waits for what is still to come, until the run has ended. false: what there is by now. */
  readonly follow?: boolean;
  /** Told of each lost connection; it is tried again until the signal aborts. */
  readonly onRetry?: (error: Error) => void;
}

/**
 * @throws RunNotFoundError where there is no such run; RunArgumentError where `after` is no event of it; an error that
 * says so where payloads cannot be decoded.
 */
export async function* followHistory(
  client: Client,
  workflowId: string,
  options: EventsOptions = {},
): AsyncGenerator<AgentEvent, void> {
  const { after, follow = true, signal = new AbortController().signal, onRetry } = options;
  const reading: Reading = { signal, follow, ...(onRetry && { onRetry }) };
  const place = after === undefined ? undefined : parsePlace(after);
  try {
    let runId: string | undefined = place?.runId ?? (await firstExecution(client, workflowId));
    for (let skip = place; runId !== undefined && !signal.aborted; skip = undefined) {
      runId = yield* followExecution({ client, workflowId, runId, reading, ...(skip && { skip }) });
    }
  } catch (error) {
    if (!isNotFound(error)) throw error;
    if (place === undefined)
      throw new RunNotFoundError(`There is no run ${workflowId} in this namespace.`, {
        cause: error,
        runId: workflowId,
      });
    throw new RunArgumentError(
      `The event ${after} is of an execution that the run ${workflowId} does not have (any more); leave "after" out to begin at its start.`,
      { cause: error, runId: workflowId },
    );
  }
}

interface Following {
  readonly client: Client;
  readonly workflowId: string;
  readonly runId: string;
  readonly reading: Reading;
  /** Begin after this one. */
  readonly skip?: Place;
}

/** Returns the run id of the execution that the run goes on in. */
async function* followExecution({
  client,
  workflowId,
  runId,
  reading,
  skip,
}: Following): AsyncGenerator<AgentEvent, string | undefined> {
  const decoder = new HistoryDecoder(client, workflowId);
  const translator = new HistoryTranslator(runId);
  let toFind = skip;
  for await (const page of readHistory(client, { workflowId, runId }, reading)) {
    for (const historyEvent of await decoder.decode(page)) {
      for (const event of translator.translate(historyEvent)) {
        const reset =
          event.type === 'ended' ? await persistently(reading, () => resetOf(client, workflowId, runId)) : undefined;
        if (reset === ABORTED || reading.signal.aborted) return undefined;
        const shown = reset === undefined ? event : goesOn(event, reset);
        const order = toFind === undefined ? 1 : comparePlaces(parsePlace(shown.id), toFind);
        if (order > 0 && toFind !== undefined) throw noEvent(toFind, workflowId);
        if (order === 0) toFind = undefined;
        else if (order > 0) yield shown;
        if (shown.type === 'continued_as_new') return shown.newRunId;
      }
    }
  }
  if (toFind !== undefined && !reading.signal.aborted) throw noEvent(toFind, workflowId);
  return undefined;
}

function goesOn({ id, time, lap, turn }: AgentEvent, newRunId: string): AgentEvent {
  return { id, time, lap, turn, type: 'continued_as_new', newRunId, cause: 'reset' };
}

function noEvent({ id }: Place, workflowId: string): RunArgumentError {
  return new RunArgumentError(
    `The run ${workflowId} has no event ${id}; give the id of an event that it has told, or leave "after" out.`,
    { runId: workflowId },
  );
}
