/**
 * The provider for any model of the AI SDK: Anthropic, Google, Bedrock and the rest. Uses the model's stream; the AI SDK's
 * own loop, retries and errors are not needed, and nothing of it is imported.
 */
import { callOf } from './ai-sdk/call.js';
import { failureOfThrown } from './ai-sdk/errors.js';
import { PartsAssembly } from './ai-sdk/parts.js';
import type { AiSdkCall, AiSdkModel, ProviderOptions } from './ai-sdk/types.js';
import { answerOf } from './answer.js';
import { type Failure, type FailureContext, failureOf } from './failure-class.js';
import { type Fields, onlyFields } from '../agents/definition-error.js';
import { isJsonObject } from '../conversation/json.js';
import { untilAborted } from '../waiting/interruptible.js';
import { asError } from './openai-provider.js';
import { type FormTraits, ignoresForm } from './output-format.js';
import { type ModelAnswer, ModelFailure, type ModelProvider, type ModelRequest } from './provider.js';
import { outputLesson, toolFormLesson } from './refusal-lesson.js';

export type { AiSdkModel } from './ai-sdk/types.js';

export interface AiSdkOptions {
  /** Sent with every request, by provider name: `{ anthropic: { thinking: { type: 'enabled', budgetTokens: 4000 } } }`. */
  readonly providerOptions?: ProviderOptions;
  /** Sent with every request, where the provider speaks HTTP. */
  readonly headers?: Readonly<Record<string, string>>;
}

const FIELDS: Fields<AiSdkOptions> = { providerOptions: true, headers: true };

/** Parts that say nothing of the answer: they do not show that the model is still at work. */
const NO_EVENTS: ReadonlySet<unknown> = new Set(['ping', 'raw']);

/**
 * Answers by a model of the AI SDK (`LanguageModelV4`, or V3): one model, or a function that gives the model of a name
 * (an AI SDK provider is one: `aiSdk(anthropic)`). Parameters of an agent's model go to the call where the AI SDK has them
 * (`temperature`, `topP`, …), others to the provider's own options. Keys are the AI SDK's matter.
 * @throws DefinitionError for an option that there is not.
 */
export function aiSdk(
  model: AiSdkModel | ((modelId: string) => AiSdkModel),
  options: AiSdkOptions = {},
): ModelProvider {
  onlyFields('aiSdk', options, FIELDS);
  /** By model: which means it has to be asked for the form of an answer, as far as its refusals tell. */
  const learned = new Map<string, FormTraits>();

  return {
    name: 'ai-sdk',
    async answer(request: ModelRequest): Promise<ModelAnswer> {
      request.signal.throwIfAborted();
      const own = new AbortController();
      const abort = (): void => own.abort(request.signal.reason);
      request.signal.addEventListener('abort', abort, { once: true });
      try {
        return await ask(request, own.signal);
      } finally {
        request.signal.removeEventListener('abort', abort);
        // Whatever the provider still does for this request has no reader any more.
        own.abort(new Error('The answer is read no further.'));
      }
    },
  };

  async function ask(request: ModelRequest, signal: AbortSignal): Promise<ModelAnswer> {
    const context = contextOf(request.model, typeof model === 'function' ? 'the AI SDK' : model.provider, options);
    const chosen = choose(model, request.model, context);
    const at = { ...context, server: chosen.provider };
    for (;;) {
      const traits = learned.get(request.model) ?? OWN_MEANS;
      const call = callOf(request, { provider: chosen.provider, traits, ...options });
      try {
        const answer = await askOnce(chosen, { ...call, abortSignal: signal }, request.onEvent, signal, at);
        if (call.responseFormat && ignoresForm(answer)) learned.set(request.model, BY_TOOL);
        return answer;
      } catch (error) {
        const output = formLesson(call, traits, error);
        if (output === null) throw error;
        learned.set(request.model, { ...traits, ...output });
      }
    }
  }
}

/** What a provider of the AI SDK does with a form is its own matter, beside tools too. */
const OWN_MEANS: FormTraits = { output: 'strict', outputWithTools: true };
const BY_TOOL: FormTraits = { ...OWN_MEANS, output: 'tool' };

/** The simpler way to ask for a form, where the failure is about the way in which it was asked for. */
function formLesson(call: AiSdkCall, { output }: FormTraits, error: unknown): Pick<FormTraits, 'output'> | null {
  if (!(error instanceof ModelFailure) || error.failureClass !== 'bad_request') return null;
  const words = { text: error.message, places: [] };
  if (call.responseFormat) return outputLesson(output, words);
  return toolFormLesson(call.tools?.map(({ name }) => name) ?? [], words);
}

async function askOnce(
  model: AiSdkModel,
  call: AiSdkCall,
  onEvent: ModelRequest['onEvent'],
  signal: AbortSignal,
  at: FailureContext,
): Promise<ModelAnswer> {
  const assembly = new PartsAssembly();
  const caller: { fault?: unknown } = {};
  let reader: ReadableStreamDefaultReader<unknown> | undefined;
  try {
    const { stream } = await untilAborted(model.doStream(call), signal);
    reader = stream.getReader();
    while (!assembly.isFinished && !assembly.isCut) {
      const { done, value: part } = await untilAborted(reader.read(), signal);
      if (done) break;
      if (!isJsonObject(part) || NO_EVENTS.has(part['type'])) continue;
      if (part['type'] === 'error') throw new StreamError(part['error']);
      if (part['type'] === 'tool-approval-request') throw asError(unanswerable(at));
      const delta = assembly.feed(part);
      if (call.responseFormat && assembly.formIsUnsupported) throw asError(formless(at));
      try {
        onEvent(delta);
      } catch (error) {
        caller.fault = error;
        throw error;
      }
    }
  } catch (error) {
    signal.throwIfAborted();
    if ('fault' in caller || error instanceof ModelFailure) throw error;
    throw asError(failureOfThrown(error instanceof StreamError ? error.told : error, { ...at, nowMs: Date.now() }));
  } finally {
    void reader?.cancel().catch(() => undefined);
  }
  const answer = answerOf({ assembled: assembly.result(), shape: 'events', excerpt: '' }, at);
  if ('sentence' in answer) throw asError(answer);
  return answer;
}

/** An error that the provider put into the stream: anything at all. */
class StreamError extends Error {
  constructor(readonly told: unknown) {
    super('An error came within the stream.');
  }
}

function choose(
  model: AiSdkModel | ((modelId: string) => AiSdkModel),
  name: string,
  context: FailureContext,
): AiSdkModel {
  let chosen: AiSdkModel;
  try {
    chosen = typeof model === 'function' ? model(name) : model;
  } catch (error) {
    throw asError(failureOfThrown(error, context));
  }
  // A fallback that asks the same model again, under another name, would be a wrong record.
  const problem =
    !['v3', 'v4'].includes(chosen.specificationVersion) || typeof chosen.doStream !== 'function'
      ? 'it is no language model of the AI SDK with specification v3 or v4; update its package.'
      : typeof model !== 'function' && chosen.modelId !== name
        ? `aiSdk() was given ${chosen.modelId} alone. Name that model in the agent, or give aiSdk() a function from names to models.`
        : undefined;
  if (problem !== undefined) throw asError(failureOf('bad_request', `cannot be asked: ${problem}`, context));
  return chosen;
}

function unanswerable(context: FailureContext): Failure {
  const happened =
    'asks for the approval of a tool that its provider runs itself, which Everlap cannot give. Switch approval off there, or make it a tool of the agent.';
  return failureOf('bad_request', happened, context);
}

function formless(context: FailureContext): Failure {
  return failureOf('bad_request', 'does not support responseFormat: its provider says so in a warning.', context);
}

function contextOf(model: string, server: string, { headers = {} }: AiSdkOptions): FailureContext {
  const secrets = Object.values(headers).filter((value) => value.length >= 8);
  return { model, server, keySource: "the AI SDK provider's settings", secrets, nowMs: Date.now() };
}
