/** Requests as the scripted model reads and records them. Knows nothing of replies. */
import { z } from 'zod';

const wireCall = z.looseObject({
  id: z.string().optional(),
  function: z.looseObject({ name: z.string(), arguments: z.string() }).optional(),
});
const wireMessage = z.looseObject({
  role: z.string(),
  content: z.unknown().optional(),
  tool_calls: z.array(wireCall).nullish(),
  tool_call_id: z.string().nullish(),
});
const wireTool = z.looseObject({ function: z.looseObject({ name: z.string() }).optional() });
const chatRequest = z.looseObject({
  model: z.string(),
  messages: z.array(wireMessage),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
  tools: z.array(wireTool).nullish(),
  tool_choice: z.unknown().optional(),
});

/** The body of a chat completions request. Fields that are not named here are kept as they came. */
export type ChatRequest = z.infer<typeof chatRequest>;
export type WireMessage = z.infer<typeof wireMessage>;
export type WireCall = z.infer<typeof wireCall>;

/**
 * How a reply's connection ended. `whole`: the script's step was played to its end. `by client`: the client went first.
 * `cut`: the script, or `close()`, destroyed it.
 */
export type Closed = 'whole' | 'by client' | 'cut';

/** One request, from its arrival on. */
export class RecordedRequest {
  /** The task of `byTask` that it was matched with; null for `script`. */
  task: string | null = null;
  /** Its place in its own script. null until it got that far. */
  turn: number | null = null;
  /** Why it was refused; null if it was not. */
  refused: string | null = null;
  /** null while the reply is on its way. */
  closed: Closed | null = null;
  #body: ChatRequest | null;

  constructor(
    /** Its place among all chat requests of this server, from 0. */
    readonly index: number,
    readonly headers: Readonly<Record<string, string | string[] | undefined>>,
    /** Milliseconds since 1970. */
    readonly arrivedAt: number,
    /** Characters of the body as it came. */
    readonly bodyChars: number,
    body: ChatRequest,
  ) {
    this.#body = body;
  }

  /** @throws Error if the server was told to keep fewer bodies. */
  get body(): ChatRequest {
    if (this.#body === null) throw new Error(`The body of request ${this.index} was not kept; raise keepBodies.`);
    return this.#body;
  }

  get messages(): readonly WireMessage[] {
    return this.body.messages;
  }

  forgetBody(): void {
    this.#body = null;
  }
}

/** @returns the body, or a sentence about what is wrong with it. */
export function parseChatRequest(json: unknown): ChatRequest | string {
  const parsed = chatRequest.safeParse(json);
  return parsed.success
    ? parsed.data
    : `The request's body is no chat completions request: ${z.prettifyError(parsed.error)}`;
}

/** The text of a message: its content, or its text parts joined; '' where there is none. */
export function textOf(message: WireMessage | undefined): string {
  const content: unknown = message?.content;
  if (typeof content === 'string') return content;
  const parts = z.array(z.looseObject({ text: z.string().optional() })).safeParse(content);
  return parts.success ? parts.data.map((part) => part.text ?? '').join('') : '';
}
