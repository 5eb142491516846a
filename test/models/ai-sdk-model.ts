/** A model of the AI SDK that plays a script, as its providers behave: pieces, blocks, errors of their kind. */
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import type { ScriptedReply, SeenRequest } from './provider-suite.js';
import { piecesOf } from './responses-server.js';

export interface ScriptedAiModel extends LanguageModelV4 {
  readonly seen: SeenRequest[];
  readonly calls: LanguageModelV4CallOptions[];
}

/** As `APICallError` of the AI SDK, without its class: the package may be there twice. */
export class CallError extends Error {
  override readonly name = 'AI_APICallError';
  readonly url = 'https://api.example.org/v1/messages';
  readonly requestBodyValues = {};
  constructor(
    message: string,
    readonly statusCode: number | undefined,
    readonly responseHeaders: Record<string, string>,
    readonly responseBody: string | undefined,
    readonly isRetryable: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export function aiModel(
  modelId: string,
  play: (call: LanguageModelV4CallOptions, n: number) => ReadableStream<LanguageModelV4StreamPart>,
): ScriptedAiModel {
  const seen: SeenRequest[] = [];
  const calls: LanguageModelV4CallOptions[] = [];
  return {
    specificationVersion: 'v4',
    provider: 'scripted.chat',
    modelId,
    supportedUrls: {},
    seen,
    calls,
    doGenerate: () => Promise.reject(new Error('Only streams are asked for.')),
    doStream: async (call) => {
      call.abortSignal?.throwIfAborted();
      calls.push(call);
      seen.push(seenOf(call));
      return { stream: play(call, calls.length) };
    },
  };
}

export function playScript(script: readonly ScriptedReply[]) {
  return ({ abortSignal }: LanguageModelV4CallOptions, n: number): ReadableStream<LanguageModelV4StreamPart> => {
    const reply = script[n - 1];
    if (!reply) throw new Error(`Request ${n} was not expected.`);
    if (reply.error) {
      const { status, headers = {}, body } = reply.error;
      throw new CallError('It failed.', status, headers, JSON.stringify(body), status === 429 || status >= 500);
    }
    const parts = partsOf(reply, n);
    return new ReadableStream({
      start(controller) {
        const told = reply.then === undefined ? parts : parts.slice(0, -3);
        for (const part of told) controller.enqueue(part);
        if (reply.then === 'cut') controller.error(new TypeError('terminated'));
        else if (reply.then === undefined) controller.close();
        else abortSignal?.addEventListener('abort', () => controller.error(abortSignal.reason));
      },
    });
  };
}

export function streamOfParts(parts: readonly LanguageModelV4StreamPart[]): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

function partsOf(reply: ScriptedReply, n: number): LanguageModelV4StreamPart[] {
  const { text, reasoning, calls = [], finish = 'end', usage } = reply;
  const parts: LanguageModelV4StreamPart[] = [{ type: 'stream-start', warnings: [] }, { type: 'ping' }];
  if (reasoning !== undefined) {
    const signature = { scripted: { signature: `sig_${n}` } };
    parts.push({ type: 'reasoning-start', id: '0' });
    for (const delta of piecesOf(reasoning)) parts.push({ type: 'reasoning-delta', id: '0', delta });
    parts.push({ type: 'reasoning-delta', id: '0', delta: '', providerMetadata: signature });
    parts.push({ type: 'reasoning-end', id: '0' });
  }
  if (text !== undefined) {
    parts.push({ type: 'text-start', id: '1' });
    for (const delta of piecesOf(text)) parts.push({ type: 'text-delta', id: '1', delta });
    parts.push({ type: 'text-end', id: '1' });
  }
  for (const { id, name, arguments: input } of calls) {
    const toolCallId = id ?? '';
    parts.push({ type: 'tool-input-start', id: toolCallId, toolName: name });
    for (const delta of piecesOf(input)) parts.push({ type: 'tool-input-delta', id: toolCallId, delta });
    // A call that was cut off is never told as one.
    if (finish === 'length') continue;
    parts.push({ type: 'tool-input-end', id: toolCallId });
    parts.push({ type: 'tool-call', toolCallId, toolName: name, input });
  }
  const unified = {
    end: calls.length > 0 ? 'tool-calls' : 'stop',
    length: 'length',
    filter: 'content-filter',
  } as const;
  return [
    ...parts,
    {
      type: 'finish',
      finishReason: { unified: unified[finish], raw: finish },
      usage: {
        inputTokens: { total: usage?.input, noCache: undefined, cacheRead: usage?.cachedInput, cacheWrite: undefined },
        outputTokens: { total: usage?.output, text: undefined, reasoning: usage?.reasoning },
      },
    },
  ];
}

function seenOf(call: LanguageModelV4CallOptions): SeenRequest {
  const [first, ...rest] = call.prompt;
  const instructions = first?.role === 'system' ? first.content : '';
  const tools = (call.tools ?? []).filter((tool) => tool.type === 'function');
  const format = call.responseFormat;
  return {
    instructions,
    turns: (first?.role === 'system' ? rest : call.prompt).flatMap(turnsOf),
    tools: tools.map(({ name }) => name),
    strictTools: tools.filter(({ strict }) => strict).map(({ name }) => name),
    toolChoice: call.toolChoice?.type === 'none' ? 'none' : 'auto',
    ...(call.maxOutputTokens !== undefined && { maxOutputTokens: call.maxOutputTokens }),
    ...(call.temperature !== undefined && { temperature: call.temperature }),
    ...(format?.type === 'json' && { form: format.name ?? '' }),
  };
}

function turnsOf(message: LanguageModelV4Message): string[] {
  if (message.role === 'system') throw new Error('Instructions come first.');
  return message.content.map((part) => {
    switch (part.type) {
      case 'text':
        return `${message.role === 'user' ? 'user' : 'text'}: ${part.text}`;
      case 'reasoning':
        return `thought: ${part.text}`;
      case 'tool-call':
        return `call ${part.toolCallId} ${part.toolName} ${JSON.stringify(part.input)}`;
      case 'tool-result':
        return `result ${part.toolCallId}: ${'value' in part.output && typeof part.output.value === 'string' ? part.output.value : JSON.stringify(part.output)}`;
      default:
        return part.type;
    }
  });
}
