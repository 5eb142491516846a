/**
 * The time limits of one streamed answer: to its first event, between two events, and as a whole. The `openai` client's
 * own `timeout` ends with the response headers, so a stream that falls silent afterwards is ended here.
 */
import type { ModelSpec } from '../agents/spec.js';
import { ModelFailure } from '../models/provider.js';
import { afterMs } from './long-timer.js';

export interface StreamLimits {
  /** Aborts at a limit, or with the outer signal. */
  readonly signal: AbortSignal;
  /** The limit that was passed, as a failure; undefined while none is. */
  readonly exceeded: ModelFailure | undefined;
  /** A parsed event has come. */
  onEvent(): void;
  stop(): void;
}

type Limits = Pick<ModelSpec, 'timeoutMs' | 'firstEventTimeoutMs' | 'idleTimeoutMs'>;

export function watchStream(limits: Limits, model: string, outer: AbortSignal): StreamLimits {
  const controller = new AbortController();
  let exceeded: ModelFailure | undefined;
  const end = (sentence: string): void => {
    exceeded ??= new ModelFailure('stalled', `${model} ${sentence}`);
    controller.abort(exceeded);
  };
  const seconds = (ms: number): string => `${ms / 1000} seconds`;
  const stopWhole = afterMs(limits.timeoutMs, () => end(`did not end its answer within ${seconds(limits.timeoutMs)}.`));
  let stopSilence = afterMs(limits.firstEventTimeoutMs, () =>
    end(`sent nothing for ${seconds(limits.firstEventTimeoutMs)}.`),
  );
  let stopped = false;
  return {
    signal: AbortSignal.any([outer, controller.signal]),
    get exceeded() {
      return exceeded;
    },
    onEvent: () => {
      // A provider that tells of events after its end must not start the clock again.
      if (stopped) return;
      stopSilence();
      stopSilence = afterMs(limits.idleTimeoutMs, () =>
        end(`fell silent for ${seconds(limits.idleTimeoutMs)} in the middle of its answer.`),
      );
    },
    stop: () => {
      stopped = true;
      stopWhole();
      stopSilence();
    },
  };
}
