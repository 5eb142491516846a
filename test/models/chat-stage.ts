/** The scripted model as a stage of the provider suite: its script from the suite's, its requests in the suite's form. */
import { z } from 'zod';
import type { ModelProvider } from '../../src/models/provider.js';
import {
  answer,
  cut,
  fallSilent,
  httpError,
  startScriptedModel,
  textOf,
  type ChatRequest,
  type Step,
} from '../../src/testing/index.js';
import type { ScriptedReply, SeenRequest, Stage } from './provider-suite.js';

export async function chatStage(
  script: readonly ScriptedReply[],
  provider: (baseUrl: string) => ModelProvider,
): Promise<Stage> {
  const server = await startScriptedModel({ script: script.map(chatStep) });
  return {
    provider: provider(server.baseUrl),
    model: 'some-model',
    seen: () => server.requests.map(({ body }) => seenByChat(body)),
    close: () => server.close(),
  };
}

function chatStep({ text, reasoning, calls, finish = 'end', usage, then, error }: ScriptedReply): Step {
  if (error) return httpError(error.status, { body: error.body, ...(error.headers && { headers: error.headers }) });
  const step = answer({
    ...(text !== undefined && { text }),
    ...(reasoning !== undefined && { reasoning }),
    ...(calls && { calls }),
    ...(finish !== 'end' && { finish: finish === 'filter' ? 'content_filter' : finish }),
    usage: usage
      ? {
          prompt_tokens: usage.input,
          completion_tokens: usage.output,
          prompt_tokens_details: { cached_tokens: usage.cachedInput },
          completion_tokens_details: { reasoning_tokens: usage.reasoning },
        }
      : 'absent',
    pieceChars: 5,
  });
  if (then === undefined) return step;
  return then === 'cut' ? cut(step, { afterChunks: 2 }) : fallSilent(step, { afterChunks: 2 });
}

const Tool = z.object({ function: z.object({ name: z.string(), strict: z.boolean().optional() }) });
const Body = z.looseObject({
  tools: z.array(Tool).default([]),
  tool_choice: z.enum(['auto', 'none']).default('auto'),
  max_tokens: z.number().optional(),
  temperature: z.number().optional(),
  response_format: z.object({ json_schema: z.object({ name: z.string() }).optional() }).optional(),
});

function seenByChat(body: ChatRequest): SeenRequest {
  const { tools, tool_choice, max_tokens, temperature, response_format } = Body.parse(body);
  const [first, ...rest] = body.messages;
  return {
    instructions: textOf(first),
    turns: rest.flatMap((message) => {
      if (message.role === 'tool') return [`result ${message.tool_call_id}: ${textOf(message)}`];
      if (message.role === 'user') return [`user: ${textOf(message)}`];
      const thought = message['reasoning_content'];
      return [
        ...(typeof thought === 'string' ? [`thought: ${thought}`] : []),
        ...(textOf(message) === '' ? [] : [`text: ${textOf(message)}`]),
        ...(message.tool_calls ?? []).map(
          (call) => `call ${call.id} ${call.function?.name} ${call.function?.arguments}`,
        ),
      ];
    }),
    tools: tools.map((tool) => tool.function.name),
    strictTools: tools.filter((tool) => tool.function.strict === true).map((tool) => tool.function.name),
    toolChoice: tool_choice,
    ...(max_tokens !== undefined && { maxOutputTokens: max_tokens }),
    ...(temperature !== undefined && { temperature }),
    ...(response_format?.json_schema && { form: response_format.json_schema.name }),
  };
}
