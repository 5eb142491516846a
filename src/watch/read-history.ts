/**
 * One execution's raw history, as it is written, by long polls. Knows no event's meaning.
 */
import type { Client } from '@temporalio/client';
import type { RawEvent } from './decode-history.js';
import { ABORTED } from '../waiting/interruptible.js';
import { persistently, type Persistence } from './persistently.js';

export interface Reading extends Persistence {
  /** Waits for events that are still to come, until the execution is closed. */
  readonly follow: boolean;
}

export interface Execution {
  readonly workflowId: string;
  readonly runId: string;
}

type HistoryPage = Awaited<ReturnType<Client['workflowService']['getWorkflowExecutionHistory']>>;

/** A server answers a long poll after some 20 seconds at the latest; past this the connection is taken for dead. */
const POLL_TIMEOUT_MS = 60_000;

/**
 * Pages of events, each event once, in order, none empty. Ends where the execution is closed, or with `follow: false` at
 * the newest event, or when the signal aborts.
 * @throws the server's error where another try would not help: not found, not allowed.
 */
export async function* readHistory(client: Client, execution: Execution, reading: Reading): AsyncGenerator<RawEvent[]> {
  let token: Uint8Array | undefined;
  let lastId = 0;
  // A page token may be worth nothing to a server that was restarted: it is read from the start then, and skipped.
  const onRetry = (error: Error): void => {
    token = undefined;
    reading.onRetry?.(error);
  };
  do {
    const response = await persistently({ ...reading, onRetry }, () => poll(client, execution, reading, token));
    if (response === ABORTED) return;
    token = response.nextPageToken;
    const events = (response.history?.events ?? []).filter(({ eventId }) => Number(eventId) > lastId);
    lastId = Number(events.at(-1)?.eventId ?? lastId);
    if (events.length > 0) yield events;
  } while (token.length > 0);
}

async function poll(
  client: Client,
  execution: Execution,
  { signal, follow }: Reading,
  token: Uint8Array | undefined,
): Promise<HistoryPage> {
  const { connection, options, workflowService } = client;
  // The client never takes its listeners off a signal again: each request gets one of its own.
  const request = new AbortController();
  const abort = (): void => request.abort();
  signal.addEventListener('abort', abort, { once: true });
  const history = {
    namespace: options.namespace,
    execution,
    waitNewEvent: follow,
    ...(token && { nextPageToken: token }),
  };
  try {
    return await connection.withAbortSignal(request.signal, () =>
      connection.withDeadline(Date.now() + POLL_TIMEOUT_MS, () => workflowService.getWorkflowExecutionHistory(history)),
    );
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
