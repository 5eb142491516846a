/**
 * One assistant message from the parts of an AI SDK stream. Pure: whatever a provider puts into the stream is read by
 * shape. Of metadata the last of a block counts; it goes back as `providerOptions` (signatures, item ids). Files and
 * sources are left out: a message here has none.
 */
import { wellFormed } from '../../conversation/cut-text.js';
import { isJsonObject, type Json, type JsonObject } from '../../conversation/json.js';
import type { Usage } from '../../conversation/message.js';
import { BETWEEN, isPlainLayout, joinTexts } from '../answer-layout.js';
import { AI_SDK_FIELD } from '../extra-fields.js';
import { fieldsOf, parseJson, textOf, wellFormedJson } from '../json-text.js';
import type { StreamDelta } from '../provider.js';
import { Budget, MAX_ANSWER_BYTES, MAX_EXTRA_BYTES, MAX_REASONING_BYTES } from '../reply-budget.js';
import type { Assembled } from '../stream-assembly.js';
import type { AssembledCall } from '../tool-call-assembly.js';

/** Types of marks in the layout. */
export const MARKS = { text: 'text', thought: 'reasoning', call: 'tool-call' } as const;

/** Notes on the stream: their provider leaves them out of a prompt, and history would have each of them twice. */
const NOT_SENT_BACK: ReadonlySet<string> = new Set(['anthropic.message_start']);

interface Block {
  readonly type: 'text' | 'reasoning' | 'tool-call' | 'kept';
  readonly id: string;
  readonly pieces: string[];
  name: string;
  /** A call that came whole. */
  input?: string;
  metadata?: JsonObject;
  kept?: JsonObject;
}

export class PartsAssembly {
  readonly #budget: Budget;
  readonly #thoughts = new Budget(MAX_REASONING_BYTES);
  readonly #blocks: Block[] = [];
  #usage: Usage | null = null;
  #finishReason: string | null = null;
  #isWhole = false;
  #formIsUnsupported = false;

  constructor(maxBytes: number = MAX_ANSWER_BYTES) {
    this.#budget = new Budget(maxBytes);
  }

  get isCut(): boolean {
    return this.#budget.isSpent;
  }

  get isFinished(): boolean {
    return this.#finishReason !== null;
  }

  /** The provider has warned that it does not know `responseFormat`. */
  get formIsUnsupported(): boolean {
    return this.#formIsUnsupported;
  }

  /** Takes one part other than an error. Returns what is new in it for a reader. */
  feed(part: JsonObject): StreamDelta {
    const type = textOf(part['type']);
    const id = textOf(part['id']);
    switch (type) {
      case 'stream-start':
        this.#formIsUnsupported ||= JSON.stringify(part['warnings'] ?? []).includes('"responseFormat"');
        return {};
      case 'text-start':
      case 'text-end':
      case 'reasoning-start':
      case 'reasoning-end':
        this.#block(type.startsWith('text') ? 'text' : 'reasoning', id, type.endsWith('start'), part);
        return {};
      case 'text-delta':
        return this.#text(this.#block('text', id, false, part), textOf(part['delta']));
      case 'reasoning-delta': {
        const thought = this.#thoughts.take(textOf(part['delta']));
        this.#block('reasoning', id, false, part).pieces.push(thought);
        return thought === '' ? {} : { reasoning: thought };
      }
      case 'tool-input-start':
        if (part['providerExecuted'] === true) return {};
        this.#block('tool-call', id, true, part).name = this.#budget.take(textOf(part['toolName']));
        return {};
      case 'tool-input-delta': {
        const block = this.#blocks.findLast((other) => other.type === 'tool-call' && other.id === id);
        block?.pieces.push(this.#budget.take(textOf(part['delta'])));
        return {};
      }
      case 'tool-call':
        this.#call(part);
        return {};
      case 'tool-result':
        if (part['preliminary'] !== true) this.#keep('provider-result', part, ['result', 'isError']);
        return {};
      case 'custom':
        if (!NOT_SENT_BACK.has(textOf(part['kind']))) this.#keep('custom', part, ['kind']);
        return {};
      case 'finish':
        this.#finish(part);
        return {};
      default:
        return {};
    }
  }

  result(): Assembled {
    const blocks = merged(this.#blocks);
    const texts: string[] = [];
    const thoughts: string[] = [];
    const toolCalls: AssembledCall[] = [];
    const layout: JsonObject[] = [];
    for (const { type, id, name, pieces, input, metadata, kept } of blocks) {
      const options = metadata && { providerOptions: metadata };
      const words = wellFormed(pieces.join(''));
      if (type === 'kept') {
        layout.push({ ...kept, ...options });
      } else if (type === 'tool-call') {
        toolCalls.push({ id: wellFormed(id), name: wellFormed(name), arguments: wellFormed(input ?? words) });
        layout.push({ type: MARKS.call, ...options });
      } else if (words !== '' || metadata) {
        (type === 'text' ? texts : thoughts).push(words);
        layout.push({ type, length: words.length, ...options });
      }
    }
    const isWorthKeeping = !isPlainLayout(layout, MARKS) && new Budget(MAX_EXTRA_BYTES).fits(layout);
    return {
      text: joinTexts(texts),
      reasoning: joinTexts(thoughts),
      toolCalls,
      extra: isWorthKeeping ? { [AI_SDK_FIELD]: layout } : {},
      usage: this.#usage,
      finishReason: this.#finishReason,
      isWhole: this.#isWhole,
      error: null,
      hasChoice: this.#finishReason !== null || blocks.length > 0,
      isCut: this.isCut,
    };
  }

  /** The block that a part belongs to; a new one where there is none, or the part says so. */
  #block(type: Block['type'], id: string, isNew: boolean, part: JsonObject): Block {
    let block = isNew ? undefined : this.#blocks.findLast((other) => other.type === type && other.id === id);
    if (!block) {
      block = { type, id, pieces: [], name: '' };
      this.#blocks.push(block);
    }
    const metadata = metadataOf(part);
    if (metadata) block.metadata = metadata;
    return block;
  }

  #text(block: Block, words: string): StreamDelta {
    const text = this.#budget.take(words);
    if (text === '') return {};
    const before = this.#blocks.slice(0, this.#blocks.indexOf(block)).findLast((other) => other.pieces.length > 0);
    const isApart = block.pieces.length === 0 && this.#blocks.some((other) => other !== block && hasText(other));
    block.pieces.push(text);
    return { text: isApart && !(before && areOne(before, block)) ? BETWEEN + text : text };
  }

  #call(part: JsonObject): void {
    if (part['providerExecuted'] === true) return this.#keep('provider-call', part, ['input']);
    const id = textOf(part['toolCallId']);
    const begun = this.#blocks.findLast((block) => block.type === 'tool-call' && block.id === id);
    const block = this.#block('tool-call', id, begun === undefined || begun.input !== undefined, part);
    // Some providers parse the input first.
    const { input } = part;
    const json = isJsonObject(input) ? JSON.stringify(input) : textOf(input);
    // Its pieces have been counted already.
    block.input = block.pieces.length > 0 && !this.isCut ? json : this.#budget.take(json);
    block.name = textOf(part['toolName']) || block.name;
  }

  #keep(type: string, part: JsonObject, fields: readonly string[]): void {
    const names = type === 'custom' ? [] : ['toolCallId', 'toolName'];
    const entries = [...names, ...fields].flatMap((field): [string, Json][] => {
      const value = part[field];
      return value === undefined ? [] : [[field, plain(field === 'input' ? parsed(value) : value)]];
    });
    const block = this.#block('kept', '', true, part);
    block.kept = { type, ...Object.fromEntries(entries) };
  }

  #finish(part: JsonObject): void {
    const { unified, raw } = fieldsOf(part['finishReason']);
    const reason = textOf(unified);
    this.#usage = usageIn(fieldsOf(part['usage']));
    this.#finishReason = reason === 'content-filter' ? 'content_filter' : reason;
    // Providers say `other`, and no reason of their own, of a stream that ended without one: it was cut.
    this.#isWhole = reason !== 'interrupted' && reason !== '' && !(reason === 'other' && textOf(raw) === '');
  }
}

/** Texts that follow each other directly are one text that came in several blocks (with citations, say). */
function merged(blocks: readonly Block[]): Block[] {
  const result: Block[] = [];
  for (const block of blocks) {
    const last = result.at(-1);
    if (last && areOne(last, block)) result[result.length - 1] = { ...last, pieces: [...last.pieces, ...block.pieces] };
    else result.push(block);
  }
  return result;
}

function areOne(first: Block, second: Block): boolean {
  return first.type === 'text' && second.type === 'text' && !first.metadata && !second.metadata;
}

function hasText({ type, pieces }: Block): boolean {
  return type === 'text' && pieces.length > 0;
}

function metadataOf(part: JsonObject): JsonObject | undefined {
  const { providerMetadata } = part;
  return isJsonObject(providerMetadata) ? fieldsOf(plain(providerMetadata)) : undefined;
}

/** What JSON can say of it: metadata is typed as JSON, and not always is. */
function plain(value: Json): Json {
  return wellFormedJson((parseJson(JSON.stringify(value) ?? 'null') ?? null) as Json);
}

function parsed(value: Json): Json {
  return typeof value === 'string' ? ((parseJson(value) ?? {}) as Json) : value;
}

function usageIn(usage: JsonObject): Usage | null {
  const inputTokens = fieldsOf(usage['inputTokens']);
  const outputTokens = fieldsOf(usage['outputTokens']);
  const input = count(inputTokens['total']);
  const output = count(outputTokens['total']);
  if (input === undefined || output === undefined || input + output === 0) return null;
  const cached = count(inputTokens['cacheRead']) ?? 0;
  const reasoning = count(outputTokens['reasoning']) ?? 0;
  return {
    input,
    output,
    ...(cached > 0 && { cachedInput: Math.min(cached, input) }),
    ...(reasoning > 0 && { reasoning: Math.min(reasoning, output) }),
  };
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.round(value) : undefined;
}
