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
import { ModelFailure, type ModelAnswer, type ModelProvider } from '../models/provider.js';
import { extendHash } from './conversation-hash.js';
import { errorText } from './error-text.js';
import { startHeartbeat, type Heartbeat } from './heartbeat.js';
import { loadRun } from './load-run.js';
import type { RunCache } from './run-cache.js';
import { watchStream } from './stream-limits.js';
import { streamProgress } from './stream-progress.js';

/** Failures that no retry of the same request helps with. */
const FINAL = new Set(['auth', 'quota', 'bad_request', 'content_filter', 'overflow']);
const MIN_RETRY_DELAY_MS = 500;
/** Another worker takes over the call at once: nothing is wrong with the model. */
const SHUTDOWN_RETRY_DELAY_MS = 100;

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
  try {
    return await provider.answer({
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
    });
  } catch (error) {
    throw toFailure(limits.exceeded ?? error, input, shutdown);
  } finally {
    limits.stop();
  }
}

/** What Temporal, and then the run, is told. The provider's words are cut and free of keys already. */
function toFailure(error: unknown, input: CallModelInput, shutdown: AbortSignal): unknown {
  const { cancellationSignal, cancellationDetails } = Context.current();
  if (shutdown.aborted || cancellationDetails?.workerShutdown === true) {
    return ApplicationFailure.create({
      type: WORKER_SHUTDOWN,
      message: 'The worker shut down while the model answered; another worker asks again.',
      nextRetryDelay: SHUTDOWN_RETRY_DELAY_MS,
    });
  }
  // Rethrown as it is: Temporal knows its own cancellation by it.
  if (cancellationSignal.aborted) return cancellationSignal.reason;
  if (!(error instanceof ModelFailure)) {
    return ApplicationFailure.create({ type: 'internal', message: errorText(error), nonRetryable: true });
  }
  const { failureClass, message, details } = error;
  const nextRetryDelay = retryDelay(details.retryAfterMs, input.deadline);
  return ApplicationFailure.create({
    type: failureClass,
    message,
    nonRetryable: FINAL.has(failureClass),
    ...(nextRetryDelay !== undefined && { nextRetryDelay }),
  });
}

/** As long as the server asked for, at least half a second, and not past the run's deadline. Milliseconds. */
export function retryDelay(
  retryAfterMs: number | undefined,
  deadline: number | undefined,
  now = Date.now(),
): number | undefined {
  if (retryAfterMs === undefined) return undefined;
  const wanted = Math.max(MIN_RETRY_DELAY_MS, retryAfterMs);
  return deadline === undefined ? wanted : Math.max(MIN_RETRY_DELAY_MS, Math.min(wanted, deadline - now));
}

function estimatedUsage(spec: AgentSpec, messages: readonly Message[], answer: AssistantMessage): Usage {
  const tools = estimateTokens(JSON.stringify(spec.tools));
  return {
    input: estimateTokens(spec.instructions) + tools + estimateMessages(messages),
    output: estimateMessages([answer]),
    estimated: true,
  };
}
