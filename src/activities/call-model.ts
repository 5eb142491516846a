/**
 * The activity `callModel`: one streaming request per attempt. Puts the conversation together, watches the stream's
 * time limits, and turns whatever goes wrong into a failure that says whether Temporal should try again.
 * Knows no provider's format: that is behind `ModelProvider`.
 */
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { WORKER_SHUTDOWN, type CallModelInput, type CallModelOutput } from '../agents/wire.js';
import type { AgentSpec } from '../agents/spec.js';
import type { AssistantMessage, Message, Usage } from '../conversation/message.js';
import { estimateMessages, estimateTokens } from '../models/estimate.js';
import { ModelFailure, type ModelAnswer, type ModelProvider, type ModelRequest } from '../models/provider.js';
import { redact } from '../models/redact.js';
import { soundAnswer } from '../models/sound-answer.js';
import { cutText } from '../conversation/cut-text.js';
import { extendHash } from './conversation-hash.js';
import { errorText } from './error-text.js';
import { startHeartbeat, type Heartbeat } from './heartbeat.js';
import { loadRun } from './load-run.js';
import type { RunCache } from './run-cache.js';
import { ABANDONED, settleWithin } from './settle-within.js';
import { watchStream } from './stream-limits.js';
import { streamProgress } from './stream-progress.js';

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

export async function callModel(dependencies: ModelDependencies, input: CallModelInput): Promise<CallModelOutput> {
  const { attempt } = Context.current().info;
  const heartbeat = startHeartbeat({ turn: input.turn, attempt, length: 0, text: '' });
  try {
    const { spec, messages, hash } = await loadRun(dependencies.cache, input);
    const answer = await ask(dependencies, { input, spec, messages, heartbeat, attempt });
    const message: AssistantMessage = {
      ...answer.message,
      ...(input.model !== spec.model.name && { model: input.model }),
    };
    const head = extendHash(hash, [message]);
    dependencies.cache.keepConversation(head, [...messages, message], input.base.hash);
    return {
      message,
      usage: answer.usage ?? estimatedUsage(spec, messages, message),
      head,
      ...(answer.finish === 'length' && { finish: 'length' as const }),
    };
  } finally {
    heartbeat.stop();
  }
}

interface Asking {
  readonly input: CallModelInput;
  readonly spec: AgentSpec;
  readonly messages: readonly Message[];
  readonly heartbeat: Heartbeat;
  readonly attempt: number;
}

async function ask(
  { provider, shutdown }: ModelDependencies,
  { input, spec, messages, heartbeat, attempt }: Asking,
): Promise<ModelAnswer> {
  const { cancellationSignal } = Context.current();
  const limits = watchStream(spec.model, input.model, AbortSignal.any([cancellationSignal, shutdown]));
  const progress = streamProgress({ turn: input.turn, attempt }, heartbeat);
  const request: ModelRequest = {
    model: input.model,
    instructions: spec.instructions,
    messages,
    tools: spec.tools,
    toolChoice: input.tools === 'none' ? 'none' : 'auto',
    ...(input.maxOutputTokens !== undefined && { maxOutputTokens: input.maxOutputTokens }),
    ...(spec.model.parameters && { parameters: spec.model.parameters }),
    signal: limits.signal,
    onEvent: (delta) => {
      limits.onEvent();
      progress(delta);
    },
  };
  try {
    const answer = await settleWithin(() => provider.answer(request), limits.signal, ABORT_GRACE_MS);
    // What a provider returns after the abort may be half an answer.
    if (answer !== ABANDONED && !limits.signal.aborted) return soundAnswer(answer, messages);
    throw limits.exceeded ?? new Error('it was aborted');
  } catch (error) {
    throw toFailure(error, provider, input, shutdown);
  } finally {
    limits.stop();
  }
}

/** What Temporal, and then the run, is told. */
function toFailure(error: unknown, provider: ModelProvider, input: CallModelInput, shutdown: AbortSignal): unknown {
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
  const nextRetryDelay = retryDelay(details.retryAfterMs, input.deadline);
  return ApplicationFailure.create({
    type: failureClass,
    message: words(message),
    nonRetryable: FINAL.has(failureClass),
    ...(nextRetryDelay !== undefined && { nextRetryDelay }),
  });
}

/** By its name: a config file may have loaded the package a second time. */
function isModelFailure(error: unknown): error is ModelFailure {
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

function estimatedUsage(spec: AgentSpec, messages: readonly Message[], answer: AssistantMessage): Usage {
  const tools = estimateTokens(JSON.stringify(spec.tools));
  return {
    input: estimateTokens(spec.instructions) + tools + estimateMessages(messages),
    output: estimateMessages([answer]),
    estimated: true,
  };
}
