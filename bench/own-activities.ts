/** The activities of the loop that sends the whole conversation: the `openai` client and nothing else. */
import OpenAI from 'openai';

export interface OwnMessage {
  role: 'user' | 'assistant' | 'tool';
  content: string | null;
  tool_call_id?: string;
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
}

export interface BenchActivities {
  ownModelCall(messages: readonly OwnMessage[]): Promise<OwnMessage>;
  ownTool(args: { page: number }): Promise<string>;
}

export function ownActivities(baseURL: string, tool: (args: { page: number }) => string): BenchActivities {
  const client = new OpenAI({ baseURL, apiKey: 'scripted', maxRetries: 0 });
  return {
    async ownModelCall(messages) {
      const stream = await client.chat.completions.create({
        model: 'gpt-5-mini',
        stream: true,
        messages: messages.map((message) => message as OpenAI.ChatCompletionMessageParam),
      });
      let content = '';
      const calls: NonNullable<OwnMessage['tool_calls']> = [];
      for await (const { choices } of stream) {
        const delta = choices[0]?.delta;
        content += delta?.content ?? '';
        for (const { index, id, function: part } of delta?.tool_calls ?? []) {
          const call = (calls[index] ??= { id: '', type: 'function', function: { name: '', arguments: '' } });
          call.id = id ?? call.id;
          call.function.name += part?.name ?? '';
          call.function.arguments += part?.arguments ?? '';
        }
      }
      return { role: 'assistant', content: content || null, ...(calls.length > 0 && { tool_calls: calls }) };
    },
    ownTool: async (args) => tool(args),
  };
}
