/**
 * The provider for the Responses API of OpenAI and of servers that have it too. Nothing is stored with the server:
 * reasoning goes back and forth encrypted, in the conversation.
 */
import { checkProviderOptions, openaiProvider, type OpenAiProviderOptions } from './openai-provider.js';
import type { ModelProvider } from './provider.js';
import { ResponsesAssembly } from './responses/assembly.js';
import { responsesBody } from './responses/input.js';
import { learnResponses, type ResponsesTraits, responsesTraits } from './responses/traits.js';

export interface OpenAiResponsesOptions extends OpenAiProviderOptions {
  /** What this server takes and refuses, where Everlap's own knowledge of it is wrong. */
  readonly traits?: Partial<ResponsesTraits>;
}

/**
 * A provider for any base URL that has `/responses`. Without options it reads `OPENAI_API_KEY` and `OPENAI_BASE_URL` from the
 * environment, anew for each request. Tools that the server runs itself (web search and the like) may be given as the
 * model's parameter `tools`.
 * @throws DefinitionError for an option or a trait that there is not.
 */
export function openaiResponses(options: OpenAiResponsesOptions = {}): ModelProvider {
  checkProviderOptions('openaiResponses', options, responsesTraits('', ''));
  return openaiProvider<ResponsesTraits>(
    {
      path: '/responses',
      traits: (baseUrl, model) => responsesTraits(baseUrl, model, options.traits),
      body: responsesBody,
      learn: learnResponses,
      assembly: () => new ResponsesAssembly(),
    },
    options,
  );
}
