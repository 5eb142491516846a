/**
 * Chat completions of OpenAI and of everything that imitates it. The `openai` client is the transport, without its
 * retries; replies are assembled here from the raw body, since the client's own readers lose what field work needs.
 */
import { answerOf } from './answer.js';
import { chatTarget, type ChatTarget, type ChatTargetOptions } from './chat-target.js';
import { readErrorBody } from './error-words.js';
import { type Failure, failureOfReply } from './failure-class.js';
import { ModelFailure, type ModelAnswer, type ModelProvider, type ModelRequest } from './provider.js';
import { readReply } from './read-reply.js';
import { learn } from './refusal-lesson.js';
import { postChat } from './post-chat.js';
import { type Traits, traitsFor } from './traits.js';
import { requestBody } from './wire.js';

export interface OpenAiChatOptions extends ChatTargetOptions {
  /** What this server takes and refuses, where Everlap's own knowledge of it is wrong. */
  readonly traits?: Partial<Traits>;
  /** Instead of Node's: e.g. one with a proxy, or without Node's limit of five minutes until the first byte. */
  readonly fetch?: typeof globalThis.fetch;
}

/** Each lesson is another change of the request; no server needs more than a few. */
const MAX_LESSONS = 8;
/** A server that has told its finish reason is waited for this long, for its usage figures. */
const LINGER_MS = 5_000;

/**
 * A provider for any base URL. Without options it reads `OPENAI_API_KEY` and `OPENAI_BASE_URL` from the environment,
 * anew for each request. What it learns from a server's refusals it remembers as long as it lives.
 */
export function openaiChat(options: OpenAiChatOptions = {}): ModelProvider {
  const learned = new Map<string, Traits>();

  return {
    name: 'openai',
    async answer(request: ModelRequest): Promise<ModelAnswer> {
      request.signal.throwIfAborted();
      // The client never takes its listener off a signal, and a caller's signal may outlive many requests.
      const own = new AbortController();
      const abort = (): void => own.abort(request.signal.reason);
      request.signal.addEventListener('abort', abort, { once: true });
      try {
        return await ask({ ...request, signal: own.signal });
      } finally {
        request.signal.removeEventListener('abort', abort);
      }
    },
  };

  async function ask(request: ModelRequest): Promise<ModelAnswer> {
    const target = orThrow(chatTarget(options, process.env, request.model));
    const place = `${target.baseUrl} ${request.model}`;
    for (let lessons = 0; ; lessons += 1) {
      const traits = learned.get(place) ?? traitsFor(target.baseUrl, request.model, options.traits);
      const body = requestBody(request, traits);
      const posted = orThrow(await postChat(target, body, request.signal, options.fetch));
      if ('status' in posted) {
        const failure = failureOfReply(posted, contextOf(target));
        const better = mayTeach(failure) ? learn(traits, posted.status, readErrorBody(posted.body), body) : null;
        if (!better || lessons === MAX_LESSONS) throw asError(failure);
        learned.set(place, better);
        continue;
      }
      const { signal, onEvent } = request;
      const reply = await readReply(posted.stream, { signal, onEvent, lingerMs: LINGER_MS });
      return orThrow(answerOf(reply, contextOf(target)));
    }
  }
}

/** What has another cause than the form of the request is nothing to learn from, whatever words it uses. */
function mayTeach({ failureClass }: Failure): boolean {
  return failureClass === 'bad_request' || failureClass === 'transient';
}

function contextOf({ context }: ChatTarget) {
  return { ...context, nowMs: Date.now() };
}

function orThrow<T extends object>(value: T | Failure): T {
  if ('sentence' in value) throw asError(value);
  return value;
}

function asError({ failureClass, sentence, status, retryAfterMs }: Failure): ModelFailure {
  return new ModelFailure(failureClass, sentence, {
    ...(status !== undefined && { status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}
