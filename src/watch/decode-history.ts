/**
 * From Temporal's raw history events to plain values: payloads through the client's data converter (codecs, external
 * storage and failures included), only of those events that say something about a run. Knows no agent event.
 */
import type { Client } from '@temporalio/client';
import type { Payload, ProtoFailure, SerializationContext } from '@temporalio/common';
import {
  decodeArrayFromPayloads,
  decodeMapFromPayloads,
  decodeOptionalFailureToOptionalError,
  extstoreInboundOptions,
  visit,
  walkGetWorkflowExecutionHistoryResponse,
} from '@temporalio/common/lib/internal-non-workflow/index.js';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { tsToDate } from '@temporalio/common/lib/time.js';
import { readFailure, type FailedActivity } from '../workflows/activity-failures.js';
import { WORKFLOW_TYPE } from '../agents/wire.js';
import { firstDetail } from './result-of.js';
import type { Closed, HistoryContent, HistoryEvent, Successor } from './history-event.js';
import { LOCAL_ACTIVITY } from './wire-shapes.js';

export type RawEvent = NonNullable<History['events']>[number];
type RawPayloads = { readonly payloads?: Payload[] | null } | null | undefined;
type Failed = 'activityTaskFailedEventAttributes' | 'activityTaskTimedOutEventAttributes';

const ACTIVITIES: ReadonlySet<string> = new Set([
  'callModel',
  'compactConversation',
  'describeAgent',
  'listMcpTools',
  'verifyWorkspace',
]);
const LOCAL_ACTIVITY_MARKER = 'core_local_activity';

/** Decodes the events of one execution, in order. A new execution needs a new one: ids are counted per execution. */
export class HistoryDecoder {
  private readonly context: SerializationContext;
  /** Of activities and children that are a run's: their ends name only the scheduled event. */
  private readonly scheduled = new Map<number, SerializationContext>();

  constructor(
    private readonly client: Client,
    private readonly workflowId: string,
  ) {
    this.context = { type: 'workflow', namespace: client.options.namespace, workflowId };
  }

  /**
   * Events without meaning for a run are left out.
   * @throws a sentence where a payload cannot be decoded: the client's data converter is not the worker's.
   */
  async decode(raw: RawEvent[]): Promise<HistoryEvent[]> {
    const decoded: HistoryEvent[] = [];
    try {
      // Events of a page are few enough to be held at once, and their payloads are fetched side by side.
      const { externalStorage } = this.converter;
      await visit(
        { history: { events: raw } },
        walkGetWorkflowExecutionHistoryResponse,
        extstoreInboundOptions(externalStorage),
      );
      for (const event of raw) {
        const content = await this.contentOf(event);
        if (content === undefined) continue;
        const time = event.eventTime ? tsToDate(event.eventTime).toISOString() : '';
        decoded.push({ eventId: Number(event.eventId), time, ...content });
      }
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new Error(
        `The history of ${this.workflowId} cannot be decoded: ${why} Give this client the data converter that the worker has.`,
        { cause: error },
      );
    }
    return decoded;
  }

  private get converter() {
    return this.client.options.loadedDataConverter;
  }

  private async contentOf(event: RawEvent): Promise<HistoryContent | undefined> {
    return (
      (await this.activityContent(event)) ??
      (await this.childContent(event)) ??
      (await this.messageContent(event)) ??
      (await this.executionContent(event))
    );
  }

  private async activityContent(event: RawEvent): Promise<HistoryContent | undefined> {
    const scheduled = event.activityTaskScheduledEventAttributes;
    if (scheduled) {
      const activity = scheduled.activityType?.name ?? '';
      if (!isOfRun(activity)) return undefined;
      const activityId = scheduled.activityId ?? '';
      const context = this.activityContext(activityId, false);
      this.scheduled.set(Number(event.eventId), context);
      return { kind: 'activity_scheduled', activity, activityId, input: await this.first(scheduled.input, context) };
    }
    const started = event.activityTaskStartedEventAttributes;
    if (started && this.scheduled.has(Number(started.scheduledEventId))) {
      return { kind: 'activity_started', scheduledId: Number(started.scheduledEventId), attempt: started.attempt ?? 1 };
    }
    const completed = event.activityTaskCompletedEventAttributes;
    if (completed) {
      const scheduledId = Number(completed.scheduledEventId);
      const context = this.scheduled.get(scheduledId);
      if (context === undefined) return undefined;
      return { kind: 'activity_completed', scheduledId, result: await this.first(completed.result, context) };
    }
    for (const name of [
      'activityTaskFailedEventAttributes',
      'activityTaskTimedOutEventAttributes',
    ] satisfies Failed[]) {
      const failed = event[name];
      const scheduledId = Number(failed?.scheduledEventId);
      const context = this.scheduled.get(scheduledId);
      if (context)
        return { kind: 'activity_failed', scheduledId, failure: await this.failure(failed?.failure, context) };
    }
    return this.localActivity(event);
  }

  private async localActivity(event: RawEvent): Promise<HistoryContent | undefined> {
    const marker = event.markerRecordedEventAttributes;
    if (marker?.markerName !== LOCAL_ACTIVITY_MARKER) return undefined;
    // Core writes this itself, past the codecs.
    const about = LOCAL_ACTIVITY.safeParse(plainJson(marker.details?.['data']?.payloads?.[0]));
    if (!about.success) return undefined;
    const { seq, activity_type: activity, backoff } = about.data;
    if (!isOfRun(activity) || (backoff !== null && backoff !== undefined)) return undefined;
    const context = this.activityContext(String(seq), true);
    return marker.failure
      ? { kind: 'local_activity_failed', activity, seq, failure: await this.failure(marker.failure, context) }
      : { kind: 'local_activity', activity, seq, result: await this.first(marker.details?.['result'], context) };
  }

  private async childContent(event: RawEvent): Promise<HistoryContent | undefined> {
    const started = event.startChildWorkflowExecutionInitiatedEventAttributes;
    if (started?.workflowType?.name === WORKFLOW_TYPE) {
      const runId = started.workflowId ?? '';
      const context: SerializationContext = { ...this.context, workflowId: runId };
      this.scheduled.set(Number(event.eventId), context);
      return { kind: 'child_started', runId, input: await this.first(started.input, context) };
    }
    const completed = event.childWorkflowExecutionCompletedEventAttributes;
    const failed = event.childWorkflowExecutionFailedEventAttributes;
    const startedId = Number((completed ?? failed)?.initiatedEventId);
    const context = this.scheduled.get(startedId);
    if (context === undefined) return undefined;
    const result = completed
      ? await this.first(completed.result, context)
      : firstDetail(await this.error(failed?.failure, context));
    return { kind: 'child_closed', startedId, result };
  }

  private async messageContent(event: RawEvent): Promise<HistoryContent | undefined> {
    const signal = event.workflowExecutionSignaledEventAttributes;
    if (signal) {
      const argument = await this.first(signal.input, this.context);
      return { kind: 'message', name: signal.signalName ?? '', argument, via: 'signal' };
    }
    // A reset admits updates once more; their acceptance then comes without them.
    const update =
      event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest?.input ??
      event.workflowExecutionUpdateAdmittedEventAttributes?.request?.input;
    if (update) {
      const argument = await this.first(update.args, this.context);
      return { kind: 'message', name: update.name ?? '', argument, via: 'update' };
    }
    const answered = event.workflowExecutionUpdateCompletedEventAttributes;
    if (answered?.outcome?.success) {
      const answer = await this.first(answered.outcome.success, this.context);
      return { kind: 'update_completed', acceptedId: Number(answered.acceptedEventId), answer };
    }
    if (answered?.outcome?.failure) {
      const problem = answered.outcome.failure.message ?? '';
      return { kind: 'update_refused', acceptedId: Number(answered.acceptedEventId), problem };
    }
    const cancel = event.workflowExecutionCancelRequestedEventAttributes;
    return cancel ? { kind: 'cancel_requested', reason: cancel.cause ?? '' } : undefined;
  }

  private async executionContent(event: RawEvent): Promise<HistoryContent | undefined> {
    const started = event.workflowExecutionStartedEventAttributes;
    if (started) {
      const input = await this.first(started.input, this.context);
      return { kind: 'execution_started', workflowType: started.workflowType?.name ?? '', input };
    }
    const memo = event.workflowPropertiesModifiedEventAttributes?.upsertedMemo?.fields;
    if (memo) return { kind: 'memo', fields: (await decodeMapFromPayloads(this.converter, memo, this.context)) ?? {} };
    const search = event.upsertWorkflowSearchAttributesEventAttributes?.searchAttributes?.indexedFields;
    if (search) {
      // The server reads these: they pass no codec.
      return {
        kind: 'search_attributes',
        fields: Object.fromEntries(Object.entries(search).map(([name, payload]) => [name, plainJson(payload)])),
      };
    }
    const next = event.workflowExecutionContinuedAsNewEventAttributes;
    if (next) {
      const successor: Successor = { newRunId: next.newExecutionRunId ?? '', cause: 'continued' };
      return { kind: 'continued', successor, input: await this.first(next.input, this.context) };
    }
    const successor = successorOf(event);
    if (successor) return { kind: 'continued', successor, input: undefined };
    const how = await this.closed(event);
    return how && { kind: 'closed', how };
  }

  private async closed(event: RawEvent): Promise<Closed | undefined> {
    const completed = event.workflowExecutionCompletedEventAttributes;
    if (completed) return { status: 'completed', result: await this.first(completed.result, this.context) };
    const failed = event.workflowExecutionFailedEventAttributes;
    if (failed) return { status: 'failed', error: await this.error(failed.failure, this.context) };
    if (event.workflowExecutionCanceledEventAttributes) return { status: 'cancelled' };
    const terminated = event.workflowExecutionTerminatedEventAttributes;
    // The words are those of `WorkflowHandle.result()`.
    if (terminated) return { status: 'terminated', message: terminated.reason || 'Workflow execution terminated' };
    const timedOut = event.workflowExecutionTimedOutEventAttributes;
    return timedOut ? { status: 'timed_out', message: 'Workflow execution timed out' } : undefined;
  }

  private async first(payloads: RawPayloads, context: SerializationContext): Promise<unknown> {
    return (await decodeArrayFromPayloads(this.converter, payloads?.payloads, context))[0];
  }

  private async error(failure: ProtoFailure | null | undefined, context: SerializationContext): Promise<Error> {
    return (
      (await decodeOptionalFailureToOptionalError(this.converter, failure, context)) ?? new Error('no reason given')
    );
  }

  private async failure(
    failure: ProtoFailure | null | undefined,
    context: SerializationContext,
  ): Promise<FailedActivity> {
    const cause = await this.error(failure, context);
    return readFailure(cause) ?? { kind: 'threw', type: cause.name, message: cause.message };
  }

  private activityContext(activityId: string, isLocal: boolean): SerializationContext {
    return {
      type: 'activity',
      namespace: this.client.options.namespace,
      workflowId: this.workflowId,
      activityId,
      isLocal,
    };
  }
}

/** Others are those of a team's own workflow that runs an agent within: their payloads are nobody's business here. */
function isOfRun(activity: string): boolean {
  return ACTIVITIES.has(activity) || activity.startsWith('tool.');
}

function successorOf(event: RawEvent): Successor | undefined {
  const cron = event.workflowExecutionCompletedEventAttributes?.newExecutionRunId;
  if (cron) return { newRunId: cron, cause: 'cron' };
  const retry =
    event.workflowExecutionFailedEventAttributes?.newExecutionRunId ||
    event.workflowExecutionTimedOutEventAttributes?.newExecutionRunId;
  return retry ? { newRunId: retry, cause: 'retry' } : undefined;
}

function plainJson(payload: Payload | undefined): unknown {
  if (!payload?.data) return undefined;
  try {
    return JSON.parse(new TextDecoder().decode(payload.data));
  } catch {
    // Not JSON: nothing that Everlap or Temporal's core wrote.
    return undefined;
  }
}
