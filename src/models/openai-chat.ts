/** The provider for chat completions of OpenAI and of everything that imitates it. */
import { checkProviderOptions, openaiProvider, type OpenAiProviderOptions } from './openai-provider.js';
import type { ModelProvider } from './provider.js';
import { learn } from './refusal-lesson.js';
import { StreamAssembly } from './stream-assembly.js';
import { DEFAULT_TRAITS, type Traits, traitsFor } from './traits.js';
import { requestBody } from './wire.js';

export interface OpenAiChatOptions extends OpenAiProviderOptions {
  /** What this server takes and refuses, where Everlap's own knowledge of it is wrong. */
  readonly traits?: Partial<Traits>;
}

/**
 * A provider for any base URL. Without options it reads `OPENAI_API_KEY` and `OPENAI_BASE_URL` from the environment,
 * anew for each request.
 * @throws DefinitionError for an option or a trait that there is not.
 */
export function openaiChat(options: OpenAiChatOptions = {}): ModelProvider {
  checkProviderOptions('openaiChat', options, DEFAULT_TRAITS);
  return openaiProvider<Traits>(
    {
      path: '/chat/completions',
      traits: (baseUrl, model) => traitsFor(baseUrl, model, options.traits),
      body: requestBody,
      learn: (traits, status, refusal, body) => {
        const better = learn(traits, status, refusal, body);
        return better && { traits: better, isLasting: true };
      },
      assembly: () => new StreamAssembly(),
    },
    options,
  );
}
