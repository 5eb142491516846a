/** Agent events, and between them the tokens of the answer that is being made. */
import type { Client } from '@temporalio/client';
import type { AgentEvent, LiveEvent } from './agent-event.js';
import { parsePlace } from './event-place.js';
import { followHistory, type EventsOptions } from './follow-history.js';
import { pause } from '../waiting/interruptible.js';
import { ModelProgress } from './model-progress.js';

export type LiveOptions = Omit<EventsOptions, 'follow'>;

/** Workers send progress every 100 ms. */
const POLL_MS = 150;

/**
 * All events, in order; what is live of a model call comes after the event that it was asked, and never after the one
 * that it answered. @throws as `followHistory`.
 */
export async function* live(
  client: Client,
  workflowId: string,
  options: LiveOptions = {},
): AsyncGenerator<LiveEvent, void> {
  const stop = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
  const events = followHistory(client, workflowId, { ...options, signal });
  let progress: ModelProgress | undefined;
  let news: Promise<LiveEvent[]> | undefined;
  let next = events.next();
  try {
    for (;;) {
      if (progress !== undefined) news ??= newsOf(progress, signal);
      const first = await Promise.race([next, ...(news ? [news] : [])]);
      if (Array.isArray(first)) {
        if (signal.aborted) return;
        news = undefined;
        yield* first;
        continue;
      }
      if (first.done) return;
      next = events.next();
      // Until it is waited for, its failure is nobody's.
      next.catch(() => undefined);
      const now = progressAfter(first.value, progress, client, workflowId);
      // What was on its way of a call that has ended is told by the event itself.
      if (now !== progress) news = undefined;
      progress = now;
      yield first.value;
    }
  } finally {
    stop.abort();
    await events.return();
  }
}

async function newsOf(progress: ModelProgress, signal: AbortSignal): Promise<LiveEvent[]> {
  await pause(POLL_MS, signal);
  if (signal.aborted) return [];
  // Tokens are an extra: what is wrong with the server, the events say.
  return progress.news().catch(() => []);
}

function progressAfter(
  event: AgentEvent,
  before: ModelProgress | undefined,
  client: Client,
  workflowId: string,
): ModelProgress | undefined {
  switch (event.type) {
    case 'turn_started':
    case 'model_retrying': {
      const { activityId, lap, turn } = event;
      return new ModelProgress(client, { workflowId, runId: parsePlace(event.id).runId, activityId, lap, turn });
    }
    case 'model_answered':
    case 'model_failed':
    case 'continued_as_new':
    case 'ended':
      return undefined;
    default:
      return before;
  }
}
