/** The history of a run as the server keeps it: raw events, their exact bytes, and all executions of one run. */
import type { Client } from '@temporalio/client';
import { temporal } from '@temporalio/proto';

export type HistoryEvent = temporal.api.history.v1.IHistoryEvent;
export const { EventType } = temporal.api.enums.v1;

/** All events of one execution: the newest, or the one of `runId`. In small pages, as large ones pass gRPC's limit. */
export async function eventsOf(client: Client, workflowId: string, runId?: string): Promise<HistoryEvent[]> {
  const { namespace } = client.options;
  const events: HistoryEvent[] = [];
  let nextPageToken: Uint8Array | undefined;
  do {
    const page = await client.workflowService.getWorkflowExecutionHistory({
      namespace,
      execution: { workflowId, runId: runId ?? null },
      maximumPageSize: 100,
      ...(nextPageToken && { nextPageToken }),
    });
    events.push(...(page.history?.events ?? []));
    nextPageToken = page.nextPageToken.length > 0 ? page.nextPageToken : undefined;
  } while (nextPageToken !== undefined);
  return events;
}

/** The run ids of all executions of one run, oldest first. */
export async function executionsOf(client: Client, workflowId: string): Promise<string[]> {
  const ids: string[] = [];
  const first = (await client.workflow.getHandle(workflowId).describe()).raw.workflowExecutionInfo?.firstRunId;
  for (let next = first; next;) {
    ids.push(next);
    const last: HistoryEvent | undefined = (await eventsOf(client, workflowId, next)).at(-1);
    next = last?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
  }
  return ids;
}

export function bytesOf(event: HistoryEvent): number {
  return temporal.api.history.v1.HistoryEvent.encode(event).finish().length;
}

export function typeOf(event: HistoryEvent): string {
  return EventType[event.eventType ?? 0] ?? 'unknown';
}

/** How many activities of this type have a completion in the events. */
export function completed(events: readonly HistoryEvent[], activityType: string): number {
  const scheduled = new Set(
    events
      .filter((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === activityType)
      .map((event) => String(event.eventId)),
  );
  return events.filter((event) => scheduled.has(String(event.activityTaskCompletedEventAttributes?.scheduledEventId)))
    .length;
}
