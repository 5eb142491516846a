/**
 * One assistant message from the chunks of a chat-completions stream, or from a whole completion, in whatever shape
 * they come. Pure: parsed JSON in, no transport. The shapes are those of test/models/recorded.test.ts.
 */
import { wellFormed } from '../conversation/cut-text.js';
import { isJsonObject, type JsonObject } from '../conversation/json.js';
import type { Usage } from '../conversation/message.js';
import { mergeExtra, THINKING_FIELD } from './extra-fields.js';
import { fieldsOf, listOf, textOf, wellFormedJson } from './json-text.js';
import type { StreamDelta } from './provider.js';
import { Budget, MAX_ANSWER_BYTES, MAX_EXTRA_BYTES, MAX_REASONING_BYTES } from './reply-budget.js';
import { type AssembledCall, ToolCallAssembly } from './tool-call-assembly.js';
import { usageOf } from './usage.js';

export interface Assembled {
  /** Content, and a refusal's words: '' where none came. */
  readonly text: string;
  /** Readable thinking, once, however many fields carried it: '' where none came. */
  readonly reasoning: string;
  readonly toolCalls: readonly AssembledCall[];
  /** Unknown fields of the message, to be sent back. */
  readonly extra: JsonObject;
  readonly usage: Usage | null;
  /** The last `finish_reason` that was none of null and '', as the server wrote it. */
  readonly finishReason: string | null;
  /** A finish reason, `[DONE]` or a complete JSON document came: nothing is missing. */
  readonly isWhole: boolean;
  /** The chunk that told an error, as it came; null where none did. */
  readonly error: JsonObject | null;
  /** At least one choice came: it was a completion. */
  readonly hasChoice: boolean;
  /** The reply outgrew its budget; text and calls are cut. */
  readonly isCut: boolean;
}

/** Makes one message of the parsed events of one API. */
export interface ReplyAssembly {
  /** Takes one parsed event, or the whole document of a server that does not stream. Returns what is new for a reader. */
  feed(chunk: unknown): StreamDelta;
  /** `[DONE]` came, or the JSON document was complete. */
  done(): void;
  /** The reply has outgrown its budget: there is no use in reading on. */
  readonly isCut: boolean;
  readonly hasError: boolean;
  readonly hasFinishReason: boolean;
  result(): Assembled;
}

/** Fields with the same words for people, best first: servers that send two of them send the same in both. */
const REASONING_FIELDS = ['reasoning_content', 'reasoning', 'reasoning_text', 'thinking'] as const;
const KNOWN: ReadonlySet<string> = new Set(['role', 'content', 'tool_calls', 'function_call', 'refusal']);

export class StreamAssembly implements ReplyAssembly {
  readonly #answer: Budget;
  readonly #extraBudget = new Budget(MAX_EXTRA_BYTES);
  readonly #text: string[] = [];
  /** By field: which of them is shown is decided at the end. */
  readonly #reasoning = new Map<string, { readonly budget: Budget; readonly pieces: string[] }>();
  readonly #calls = new ToolCallAssembly();
  #extra: JsonObject = {};
  #usage: Usage | null = null;
  #finishReason: string | null = null;
  #isDone = false;
  #error: JsonObject | null = null;
  #choice: unknown;
  #hasChoice = false;

  constructor(maxAnswerBytes: number = MAX_ANSWER_BYTES) {
    this.#answer = new Budget(maxAnswerBytes);
  }

  /** Takes one parsed chunk, or a whole completion. Returns what is new in it for a reader. */
  feed(chunk: unknown): StreamDelta {
    if (!isJsonObject(chunk)) return {};
    this.#usage = usageOf(chunk) ?? this.#usage;
    const choice = this.#ownChoice(chunk);
    if (this.#error === null && tellsError(chunk, choice)) this.#error = chunk;
    if (!choice) return {};
    this.#hasChoice = true;
    const reason = textOf(choice['finish_reason']);
    if (reason !== '') this.#finishReason = reason;
    const delta = this.#take(fieldsOf(choice['delta']));
    // The whole message: of a server that does not stream, or once more at the end of one that does.
    const isNew = this.#text.length === 0 && this.#calls.isEmpty;
    return isNew && isJsonObject(choice['message']) ? this.#take(choice['message']) : delta;
  }

  /** `[DONE]` came, or the JSON document was complete. */
  done(): void {
    this.#isDone = true;
  }

  get isCut(): boolean {
    return this.#answer.isSpent;
  }

  get hasError(): boolean {
    return this.#error !== null;
  }

  get hasFinishReason(): boolean {
    return this.#finishReason !== null;
  }

  result(): Assembled {
    const shown = [...REASONING_FIELDS, 'reasoning_details'].find((field) => this.#reasoning.has(field)) ?? '';
    const reasoning = ['content', shown].map((field) => {
      const words = this.#reasoning.get(field);
      return words ? words.budget.join(words.pieces) : '';
    });
    return {
      // Joined first: a surrogate pair may have come in two deltas.
      text: wellFormed(this.#answer.join(this.#text)),
      reasoning: wellFormed(reasoning.join('')),
      toolCalls: this.#calls.calls(),
      extra: {
        ...(!this.#extraBudget.isSpent && fieldsOf(wellFormedJson(this.#extra))),
        ...(this.#reasoning.has('content') && { [THINKING_FIELD]: true }),
      },
      usage: this.#usage,
      finishReason: this.#finishReason,
      isWhole: this.#isDone || this.#finishReason !== null,
      error: this.#error,
      hasChoice: this.#hasChoice,
      isCut: this.#answer.isSpent,
    };
  }

  /** The choice that is assembled: the first that came, where a server sends several. */
  #ownChoice(chunk: JsonObject): JsonObject | undefined {
    const choices = listOf(chunk['choices']).filter((choice) => isJsonObject(choice));
    const own = this.#hasChoice
      ? choices.find((choice) => choice['index'] === undefined || choice['index'] === this.#choice)
      : choices[0];
    if (own && !this.#hasChoice) this.#choice = own['index'];
    return own;
  }

  #take(message: JsonObject): StreamDelta {
    const text: string[] = [];
    const thinking: string[] = [];
    readContent(message['content'], text, thinking);
    text.push(textOf(message['refusal']));
    const told = this.#answer.take(text.join(''));
    if (told !== '') this.#text.push(told);
    this.#addReasoning('content', thinking.join(''));
    const reasoning = REASONING_FIELDS.map((field) => [field, textOf(message[field])] as const);
    for (const [field, words] of reasoning) this.#addReasoning(field, words);
    const details = listOf(message['reasoning_details']).map(fieldsOf);
    const detailed = details.map((entry) => textOf(entry['text']) + textOf(entry['summary'])).join('');
    this.#addReasoning('reasoning_details', detailed);

    const entries = listOf(message['tool_calls']);
    // The form before `tool_calls`, which some servers still answer with.
    const old = isJsonObject(message['function_call']) ? [{ function: message['function_call'] }] : [];
    if (entries.length + old.length > 0) this.#calls.feed([...entries, ...old], this.#answer);
    const extra = mergeExtra({}, message, KNOWN);
    if (Object.keys(extra).length > 0) {
      this.#extra = this.#extraBudget.fits(extra) ? mergeExtra(this.#extra, extra, KNOWN) : {};
    }
    const thought = thinking.join('') || reasoning.find(([, words]) => words !== '')?.[1] || detailed;
    return { ...(told !== '' && { text: told }), ...(thought !== '' && { reasoning: thought }) };
  }

  #addReasoning(field: string, words: string): void {
    if (words === '') return;
    const told = this.#reasoning.get(field) ?? { budget: new Budget(MAX_REASONING_BYTES), pieces: [] };
    if (!told.budget.isSpent) told.pieces.push(told.budget.take(words));
    this.#reasoning.set(field, told);
  }
}

/** `content` is a text, or (Mistral) a list of parts, of which some are thinking. */
function readContent(content: unknown, text: string[], thinking: string[]): void {
  if (typeof content === 'string') text.push(content);
  for (const part of listOf(content)) {
    if (typeof part === 'string') text.push(part);
    const { type, text: words, thinking: thought, refusal } = fieldsOf(part);
    if (type === 'thinking' || type === 'reasoning') {
      thinking.push(textOf(thought), textOf(words));
      for (const piece of listOf(thought)) thinking.push(textOf(fieldsOf(piece)['text']));
    } else {
      text.push(textOf(words), textOf(refusal));
    }
  }
}

/** The ways in which errors come inside a 200. */
export function tellsError(chunk: JsonObject, choice?: JsonObject): boolean {
  const { error, object, type, detail, message, base_resp: minimax } = chunk;
  if (isError(error) || object === 'error' || type === 'error') return true;
  if (isError(fieldsOf(minimax)['status_code']) && fieldsOf(minimax)['status_code'] !== 0) return true;
  if (choice) return isError(choice['error']);
  return !Array.isArray(chunk['choices']) && (isError(detail) || typeof message === 'string');
}

function isError(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false && value !== '';
}
