/** Every provider through the same suite. */
import { aiSdk } from '../../src/models/ai-sdk.js';
import { openaiChat } from '../../src/models/openai-chat.js';
import { openaiResponses } from '../../src/models/openai-responses.js';
import { aiModel, playScript } from './ai-sdk-model.js';
import { chatStage } from './chat-stage.js';
import { providerSuite } from './provider-suite.js';
import { startResponses } from './responses-server.js';

providerSuite('openaiChat', (script) => chatStage(script, (baseUrl) => openaiChat({ baseUrl, apiKey: 'scripted' })));

providerSuite('openaiResponses', async (script) => {
  const server = await startResponses(script);
  return {
    provider: openaiResponses({ baseUrl: server.baseUrl, apiKey: 'scripted' }),
    model: 'some-model',
    seen: () => server.seen,
    close: () => server.close(),
  };
});

providerSuite('aiSdk', async (script) => {
  const model = aiModel('some-model', playScript(script));
  return { provider: aiSdk(model), model: 'some-model', seen: () => model.seen, close: async () => undefined };
});
