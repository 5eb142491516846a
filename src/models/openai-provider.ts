/**
 * What the two APIs of OpenAI's kind have in common: one POST, a reply read from its raw body, lessons from refusals. The
 * `openai` client is the transport, without its retries; its own readers lose what field work needs.
 */
import { type Fields, onlyFields } from '../agents/definition-error.js';
import type { JsonObject } from '../conversation/json.js';
import { answerOf } from './answer.js';
import { chatTarget, type ChatTarget, type ChatTargetOptions } from './chat-target.js';
import { type ErrorWords, readErrorBody } from './error-words.js';
import { type Failure, failureOfReply } from './failure-class.js';
import { askForForm, type FormTraits, ignoresForm } from './output-format.js';
import { postRequest } from './post-request.js';
import { ModelFailure, type ModelAnswer, type ModelProvider, type ModelRequest } from './provider.js';
import { readReply } from './read-reply.js';
import type { ReplyAssembly } from './stream-assembly.js';

export interface OpenAiProviderOptions extends ChatTargetOptions {
  /** Instead of Node's: e.g. one with a proxy, or without Node's limit of five minutes until the first byte. */
  readonly fetch?: typeof globalThis.fetch;
}

const FIELDS: Fields<OpenAiProviderOptions & { readonly traits?: object }> = {
  apiKey: true,
  apiKeyEnv: true,
  baseUrl: true,
  headers: true,
  organization: true,
  fetch: true,
  traits: true,
};

/**
 * @param name of the function that has these options.
 * @param traits all that there are.
 * @throws DefinitionError for a field that there is not.
 */
export function checkProviderOptions(
  name: string,
  options: OpenAiProviderOptions & { readonly traits?: object },
  traits: object,
): void {
  onlyFields(name, options, FIELDS);
  const known = Object.fromEntries(Object.keys(traits).map((trait) => [trait, true as const]));
  if (options.traits !== undefined) onlyFields(`${name}: traits`, options.traits, known);
}

/** One API. `T`: what a server takes and refuses. */
export interface Api<T> {
  /** E.g. `/responses`. */
  readonly path: string;
  traits(baseUrl: string, model: string): T;
  body(request: ModelRequest, traits: T): JsonObject;
  /** What a refusal teaches; null where it teaches nothing. */
  learn(traits: T, status: number, refusal: ErrorWords, body: JsonObject): Lesson<T> | null;
  assembly(): ReplyAssembly;
}

export interface Lesson<T> {
  readonly traits: T;
  /** False: it is about this conversation, and not about the server. */
  readonly isLasting: boolean;
}

/** Each lesson is another change of the request; no server needs more than a few. */
const MAX_LESSONS = 8;
/** A server that has told its finish reason is waited for this long, for its usage figures. */
const LINGER_MS = 5_000;

/** What it learns from a server's refusals it remembers as long as it lives. */
export function openaiProvider<T extends FormTraits>(api: Api<T>, options: OpenAiProviderOptions): ModelProvider {
  const learned = new Map<string, T>();

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
    const { signal, onEvent } = request;
    const target = orThrow(chatTarget(options, process.env, request.model));
    const place = `${target.baseUrl} ${request.model}`;
    let own: T | undefined;
    for (let lessons = 0; ; lessons += 1) {
      const traits = own ?? learned.get(place) ?? api.traits(target.baseUrl, request.model);
      const body = api.body(request, traits);
      const posted = orThrow(await postRequest(target, api.path, body, signal, options.fetch));
      if (!('status' in posted)) {
        const assembly = api.assembly();
        const reply = await readReply(posted.stream, { assembly, signal, onEvent, lingerMs: LINGER_MS });
        const answer = orThrow(answerOf(reply, contextOf(target)));
        // Of a server that keeps to a form beside tools, a text without one is a refusal of its model.
        const asksByField = !traits.outputWithTools && askForForm(request, traits).format !== undefined;
        if (asksByField && ignoresForm(answer)) learned.set(place, { ...traits, output: 'tool' });
        return answer;
      }
      const failure = failureOfReply(posted, contextOf(target));
      const lesson = mayTeach(failure) ? api.learn(traits, posted.status, readErrorBody(posted.body), body) : null;
      if (!lesson || lessons === MAX_LESSONS) throw asError(failure);
      // The same request would only be refused again.
      if (JSON.stringify(api.body(request, lesson.traits)) === JSON.stringify(body)) throw asError(failure);
      if (lesson.isLasting && own === undefined) learned.set(place, lesson.traits);
      else own = lesson.traits;
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

export function asError({ failureClass, sentence, status, retryAfterMs }: Failure): ModelFailure {
  return new ModelFailure(failureClass, sentence, {
    ...(status !== undefined && { status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}
