/** A server that speaks the Responses API over SSE as OpenAI does, from a script; it refuses what OpenAI would refuse. */
import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import type { ScriptedReply, SeenRequest } from './provider-suite.js';
import { serve, type Served } from './recorded.js';

const Item = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('message'),
    role: z.enum(['user', 'assistant']),
    content: z.union([
      z.string(),
      z.array(z.strictObject({ type: z.literal('output_text'), text: z.string(), annotations: z.array(z.unknown()) })),
    ]),
    id: z.string().startsWith('msg_').optional(),
    status: z.literal('completed').optional(),
    phase: z.enum(['commentary', 'final_answer']).optional(),
  }),
  z.strictObject({
    type: z.literal('function_call'),
    id: z.string().startsWith('fc_').optional(),
    call_id: z.string().min(1).max(64),
    name: z.string().regex(/^[\w-]{1,64}$/),
    arguments: z.string(),
  }),
  z.strictObject({ type: z.literal('function_call_output'), call_id: z.string(), output: z.string() }),
  z.strictObject({
    type: z.literal('reasoning'),
    id: z.string().startsWith('rs_'),
    encrypted_content: z.string().startsWith('gAAAA'),
    summary: z.array(z.strictObject({ type: z.literal('summary_text'), text: z.string() })),
  }),
  z.looseObject({ type: z.literal('web_search_call'), id: z.string().startsWith('ws_') }),
]);

const Body = z.strictObject({
  model: z.string(),
  input: z.array(Item).min(1),
  instructions: z.string().optional(),
  stream: z.literal(true),
  store: z.literal(false),
  include: z.array(z.string()).optional(),
  temperature: z.number().optional(),
  max_output_tokens: z.number().int().min(16).optional(),
  tool_choice: z.literal('none').optional(),
  tools: z
    .array(
      z.union([
        z.strictObject({
          type: z.literal('function'),
          name: z.string(),
          description: z.string(),
          parameters: z.looseObject({ type: z.literal('object') }),
          strict: z.boolean(),
        }),
        z.strictObject({ type: z.literal('web_search') }),
      ]),
    )
    .optional(),
  text: z
    .strictObject({
      verbosity: z.string().optional(),
      format: z.strictObject({
        type: z.literal('json_schema'),
        name: z.string(),
        strict: z.boolean(),
        schema: z.looseObject({}),
      }),
    })
    .optional(),
});
export type ResponsesRequest = z.infer<typeof Body>;

export interface ResponsesServer extends Served {
  readonly seen: SeenRequest[];
}

export async function startResponses(script: readonly ScriptedReply[]): Promise<ResponsesServer> {
  const seen: SeenRequest[] = [];
  const server = await serve(({ body, n }, response) => {
    const parsed = Body.safeParse(body);
    if (!parsed.success) return refuse(response, z.prettifyError(parsed.error));
    const reply = script[n - 1];
    if (!reply) return refuse(response, `Request ${n} was not expected.`);
    seen.push(seenOf(parsed.data));
    if (reply.error) {
      response.writeHead(reply.error.status, { 'content-type': 'application/json', ...reply.error.headers });
      return void response.end(JSON.stringify(reply.error.body));
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    play(response, eventsOf(reply, n), reply.then);
  });
  return { ...server, seen };
}

function refuse(response: ServerResponse, message: string): void {
  response.writeHead(400, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { message, type: 'invalid_request_error', param: null, code: null } }));
}

export function sse(event: object): string {
  return `event: ${'type' in event ? String(event.type) : ''}\ndata: ${JSON.stringify(event)}\n\n`;
}

function play(response: ServerResponse, events: readonly object[], then: ScriptedReply['then']): void {
  const cut = then === undefined ? events : events.slice(0, -3);
  const bytes = cut.map(sse).join('');
  if (then === undefined) response.end(bytes);
  else response.write(bytes, () => then === 'cut' && response.destroy());
}

/** The output items of a reply, as the last event has them. */
export function itemsOf({ text, reasoning, calls = [], finish }: ScriptedReply, n: number): Record<string, unknown>[] {
  const status = finish === 'length' ? 'incomplete' : 'completed';
  return [
    ...(reasoning === undefined
      ? []
      : [
          {
            type: 'reasoning',
            id: `rs_${n}`,
            status: null,
            encrypted_content: `gAAAA${n}`,
            summary: [{ type: 'summary_text', text: reasoning }],
          },
        ]),
    ...(text === undefined
      ? []
      : [
          {
            type: 'message',
            id: `msg_${n}`,
            status,
            role: 'assistant',
            content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
          },
        ]),
    ...calls.map((call, at) => ({
      type: 'function_call',
      id: `fc_${n}_${at}`,
      status,
      name: call.name,
      arguments: call.arguments,
      ...(call.id !== null && { call_id: call.id }),
    })),
  ];
}

/** As OpenAI streams them: each item announced, in deltas, finished; then all of it once more. */
export function eventsOf(reply: ScriptedReply, n: number): object[] {
  const items = itemsOf(reply, n);
  const events: object[] = [
    { type: 'response.created', response: responseOf('in_progress') },
    { type: 'response.in_progress', response: responseOf('in_progress') },
  ];
  for (const [output_index, item] of items.entries()) {
    const place = { output_index, item_id: item['id'] };
    const pieces = piecesOf(String(reply.text ?? ''));
    const { encrypted_content: _, ...announced } = item;
    events.push({
      type: 'response.output_item.added',
      output_index,
      item: { ...announced, content: [], summary: [], arguments: '' },
    });
    if (item['type'] === 'message') {
      for (const delta of pieces)
        events.push({ type: 'response.output_text.delta', ...place, content_index: 0, delta });
    } else if (item['type'] === 'reasoning') {
      for (const delta of piecesOf(reply.reasoning ?? ''))
        events.push({ type: 'response.reasoning_summary_text.delta', ...place, summary_index: 0, delta });
    } else {
      for (const delta of piecesOf(String(item['arguments'])))
        events.push({ type: 'response.function_call_arguments.delta', ...place, delta });
    }
    events.push({ type: 'response.output_item.done', output_index, item });
  }
  const isCut = reply.finish === 'length' || reply.finish === 'filter';
  const reason = reply.finish === 'filter' ? 'content_filter' : 'max_output_tokens';
  const response = {
    ...responseOf(isCut ? 'incomplete' : 'completed'),
    output: items,
    incomplete_details: isCut ? { reason } : null,
    usage: reply.usage ? wireUsage(reply.usage) : null,
  };
  return [...events, { type: `response.${response.status}`, response }];
}

function responseOf(status: string) {
  return { id: 'resp_1', object: 'response', status, error: null, incomplete_details: null, output: [], usage: null };
}

function wireUsage({ input, output, cachedInput = 0, reasoning = 0 }: NonNullable<ScriptedReply['usage']>) {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cachedInput },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}

export function piecesOf(text: string): string[] {
  return text.match(/[\s\S]{1,5}/gu) ?? [];
}

function seenOf(body: ResponsesRequest): SeenRequest {
  const tools = (body.tools ?? []).filter((tool) => tool.type === 'function');
  return {
    instructions: body.instructions ?? '',
    turns: body.input.map((item) => {
      switch (item.type) {
        case 'message': {
          const text = typeof item.content === 'string' ? item.content : item.content.map((part) => part.text).join('');
          return `${item.role === 'user' ? 'user' : 'text'}: ${text}`;
        }
        case 'function_call':
          return `call ${item.call_id} ${item.name} ${item.arguments}`;
        case 'function_call_output':
          return `result ${item.call_id}: ${item.output}`;
        case 'reasoning':
          return `thought: ${item.summary.map(({ text }) => text).join('')}`;
        default:
          return item.type;
      }
    }),
    tools: tools.map(({ name }) => name),
    strictTools: tools.filter(({ strict }) => strict).map(({ name }) => name),
    toolChoice: body.tool_choice ?? 'auto',
    ...(body.max_output_tokens !== undefined && { maxOutputTokens: body.max_output_tokens }),
    ...(body.temperature !== undefined && { temperature: body.temperature }),
    ...(body.text && { form: body.text.format.name }),
  };
}
