/**
 * A model call while it is made: asked of the server again and again, as no event of it is in history before it has
 * ended. It sees the newest text in the heartbeats of the pending activity, and the failures of earlier attempts.
 */
import type { Client } from '@temporalio/client';
import type { Payload, ProtoFailure, SerializationContext } from '@temporalio/common';
import {
  decodeArrayFromPayloads,
  decodeOptionalFailureToOptionalError,
} from '@temporalio/common/lib/internal-non-workflow/index.js';
import { tsToDate } from '@temporalio/common/lib/time.js';
import type { AttemptFailed, LiveEvent } from './agent-event.js';
import { newTokens, NOTHING_TOLD, type Told } from './new-tokens.js';
import { STREAM_PROGRESS } from './wire-shapes.js';

export interface OpenCall {
  readonly workflowId: string;
  readonly runId: string;
  readonly activityId: string;
  readonly lap: number;
  readonly turn: number;
}

/** One model call. Invariant: `told` and `attempt` are what this watcher has heard of it so far. */
export class ModelProgress {
  private told: Told = NOTHING_TOLD;
  private attempt = 1;

  constructor(
    private readonly client: Client,
    private readonly call: OpenCall,
  ) {}

  /** What has become known since the last time; nothing where the call is not pending (any more). */
  async news(): Promise<LiveEvent[]> {
    const { workflowId, runId, activityId, lap } = this.call;
    const { raw } = await this.client.workflow.getHandle(workflowId, runId).describe();
    const pending = raw.pendingActivities?.find((activity) => activity.activityId === activityId);
    if (!pending) return [];
    const news: LiveEvent[] = [];
    const { attempt = 1, lastFailure, heartbeatDetails, nextAttemptScheduleTime: retryAt } = pending;
    if (attempt !== null && attempt > this.attempt) {
      news.push(await this.attemptFailed(attempt - 1, lastFailure, retryAt ? tsToDate(retryAt) : undefined));
      this.attempt = attempt;
    }
    const progress = STREAM_PROGRESS.safeParse(await this.first(heartbeatDetails?.payloads));
    if (progress.success) {
      const [told, fresh] = newTokens(this.told, progress.data, lap);
      this.told = told;
      if (fresh !== undefined) news.push(fresh);
    }
    return news;
  }

  private async attemptFailed(
    attempt: number,
    failure: ProtoFailure | null | undefined,
    retryAt: Date | undefined,
  ): Promise<AttemptFailed> {
    const { lap, turn } = this.call;
    const error = await decodeOptionalFailureToOptionalError(this.converter, failure, this.context);
    return {
      type: 'attempt_failed',
      lap,
      turn,
      attempt,
      error: error?.message ?? 'no reason given',
      ...(retryAt && { retryAt: retryAt.toISOString() }),
    };
  }

  private async first(payloads: Payload[] | null | undefined): Promise<unknown> {
    return (await decodeArrayFromPayloads(this.converter, payloads, this.context))[0];
  }

  private get converter() {
    return this.client.options.loadedDataConverter;
  }

  private get context(): SerializationContext {
    const { workflowId, activityId } = this.call;
    return { type: 'activity', namespace: this.client.options.namespace, workflowId, activityId, isLocal: false };
  }
}
