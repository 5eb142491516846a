/**
 * One streaming request to the provider under the stream's time limits, and what its failure means to Temporal.
 * Shared by the activities that ask a model; knows neither where a conversation comes from nor any provider's format.
 */
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { WORKER_SHUTDOWN } from '../agents/wire.js';
import type { ModelSpec } from '../agents/spec.js';
import { cutText } from '../conversation/cut-text.js';
import type { ModelAnswer, ModelFailure, ModelProvider, ModelRequest } from '../models/provider.js';
import { redact } from '../models/redact.js';
import { soundAnswer } from '../models/sound-answer.js';
import { errorText } from './error-text.js';
import { lastAttempt } from './last-attempt.js';
import type { RunCache } from './run-cache.js';
import { ABANDONED, settleWithin } from './settle-within.js';
import { watchStream } from './stream-limits.js';

/** Failures that no retry of the same request helps with. */
const FINAL = new Set(['auth', 'quota', 'bad_request', 'content_filter', 'overflow']);
const MIN_RETRY_DELAY_MS = 500;
const PAST_DEADLINE_MS = 5000;
/** A server that asks for more does not mean this request. */
const MAX_RETRY_DELAY_MS = 24 * 3_600_000;
/** For a provider to end after its signal has aborted, before it is left behind. */
const ABORT_GRACE_MS = 500;
const MAX_WORDS = 2000;

export interface ModelDependencies {
  readonly provider: ModelProvider;
  readonly cache: RunCache;
  /** Aborts when the worker begins to shut down, before its grace time for tools. */
  readonly shutdown: AbortSignal;
}

export interface Asked extends Omit<ModelRequest, 'signal' | 'onEvent'> {
  readonly onEvent?: ModelRequest['onEvent'];
}

/** @throws ModelFailure, or whatever else came of it: {@link toFailure} says what it means. */
export async function askProvider(
  { provider, shutdown }: ModelDependencies,
  timeouts: ModelSpec,
  { onEvent, ...request }: Asked,
): Promise<ModelAnswer> {
  const attempt = lastAttempt();
  const limits = watchStream(timeouts, request.model, AbortSignal.any([attempt.signal, shutdown]));
  const whole: ModelRequest = {
    ...request,
    signal: limits.signal,
    onEvent: (delta) => {
      limits.onEvent();
      onEvent?.(delta);
    },
  };
  try {
    const answer = await settleWithin(() => provider.answer(whole), limits.signal, ABORT_GRACE_MS);
    // What a provider returns after the abort may be half an answer.
    if (answer !== ABANDONED && !limits.signal.aborted) return soundAnswer(answer, request.messages);
    throw limits.exceeded ?? new Error('it was aborted');
  } finally {
    limits.stop();
    attempt.stop();
  }
}

/**
 * What Temporal, and then the run, is told: an ApplicationFailure, or Temporal's own cancellation, to be thrown as it is.
 * @param deadline milliseconds since the epoch: no retry waits past it.
 */
export function toFailure(error: unknown, { provider, shutdown }: ModelDependencies, deadline?: number): unknown {
  const { cancellationSignal, cancellationDetails, info } = Context.current();
  if (shutdown.aborted || cancellationDetails?.workerShutdown === true) {
    // Not Temporal's to retry: it would count as an attempt of the model, and wait a second. The run asks again at once.
    return ApplicationFailure.create({
      type: WORKER_SHUTDOWN,
      message: 'The worker shut down while the model answered; another worker asks again.',
      nonRetryable: true,
      details: [info.attempt],
    });
  }
  // Rethrown as it is: Temporal knows its own cancellation by it.
  if (cancellationSignal.aborted) return cancellationSignal.reason;
  if (!isModelFailure(error)) {
    const message = `The model provider ${provider.name} failed as none should: ${errorText(error)}`;
    return ApplicationFailure.create({ type: 'internal', message: words(message), nonRetryable: true });
  }
  const { failureClass, message, details } = error;
  const nextRetryDelay = retryDelay(details.retryAfterMs, deadline);
  return ApplicationFailure.create({
    type: failureClass,
    message: words(message),
    nonRetryable: FINAL.has(failureClass),
    ...(nextRetryDelay !== undefined && { nextRetryDelay }),
  });
}

/** By its name: a config file may have loaded the package a second time. */
export function isModelFailure(error: unknown): error is ModelFailure {
  return error instanceof Error && error.name === 'ModelFailure' && 'failureClass' in error && 'details' in error;
}

/** The default provider has cut its words and hidden its keys; another may have forgotten to. */
function words(message: string): string {
  return cutText(redact(message, []), MAX_WORDS);
}

/**
 * As long as the server asked for, between half a second and a day. No longer than to the run's deadline, and a little
 * more, so that the run ends there instead of asking once more; should it have been moved, the wait ends. Milliseconds.
 */
export function retryDelay(
  retryAfterMs: number | undefined,
  deadline: number | undefined,
  now = Date.now(),
): number | undefined {
  if (retryAfterMs === undefined || Number.isNaN(retryAfterMs)) return undefined;
  const left = deadline === undefined ? Infinity : deadline - now + PAST_DEADLINE_MS;
  return Math.max(MIN_RETRY_DELAY_MS, Math.min(retryAfterMs, left, MAX_RETRY_DELAY_MS));
}
