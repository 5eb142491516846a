/**
 * One assistant message from the events of a Responses stream, or from a whole response. Pure: parsed JSON in. What the
 * last event says of the output goes first, then the finished items, then what was put together from deltas.
 * https://platform.openai.com/docs/api-reference/responses-streaming
 */
import { isJsonObject, type JsonObject } from '../../conversation/json.js';
import type { Usage } from '../../conversation/message.js';
import { RESPONSES_FIELD } from '../extra-fields.js';
import { fieldsOf, listOf, textOf } from '../json-text.js';
import type { StreamDelta } from '../provider.js';
import { Budget, MAX_ANSWER_BYTES } from '../reply-budget.js';
import { type Assembled, type ReplyAssembly, tellsError } from '../stream-assembly.js';
import { BETWEEN } from '../answer-layout.js';
import { usageOf } from '../usage.js';
import { readItems } from './items.js';

interface Slot {
  readonly index: unknown;
  /** As it was announced, then as it was finished. */
  item: JsonObject;
  isDone: boolean;
  readonly pieces: string[];
}

/** Kinds of deltas, by what they belong to. Names differ between servers in what stands between. */
const TEXT = /^response\.(output_text|refusal)\.delta$/;
const THOUGHT = /^response\.reasoning[a-z_]*(\.[a-z_]+)?\.delta$/;
const ARGUMENTS = /^response\.function_call_arguments\.delta$/;
const ENDS: ReadonlySet<string> = new Set(['completed', 'incomplete', 'failed', 'cancelled', 'done']);

export class ResponsesAssembly implements ReplyAssembly {
  readonly #streamed = new Budget(MAX_ANSWER_BYTES);
  readonly #slots: Slot[] = [];
  #output: readonly JsonObject[] = [];
  #usage: Usage | null = null;
  #finishReason: string | null = null;
  #error: JsonObject | null = null;
  #hasChoice = false;

  feed(chunk: unknown): StreamDelta {
    if (!isJsonObject(chunk)) return {};
    const type = textOf(chunk['type']);
    if (chunk['object'] === 'response') this.#end(chunk, '');
    else if (!type.startsWith('response.')) this.#error ??= tellsError(chunk) ? chunk : null;
    else if (ENDS.has(type.slice('response.'.length))) this.#end(fieldsOf(chunk['response']), type);
    else return this.#take(type, chunk);
    return {};
  }

  /** Nothing to do: a stream without its last event is no whole answer, whatever else ends it. */
  done(): void {}

  get isCut(): boolean {
    return this.#streamed.isSpent;
  }

  get hasError(): boolean {
    return this.#error !== null;
  }

  get hasFinishReason(): boolean {
    return this.#finishReason !== null;
  }

  result(): Assembled {
    const items = this.#output.length > 0 ? this.#output : this.#slots.map(itemOf);
    const { text, reasoning, toolCalls, layout, isCut } = readItems(items);
    return {
      text,
      reasoning,
      toolCalls,
      extra: layout.length > 0 ? { [RESPONSES_FIELD]: layout } : {},
      usage: this.#usage,
      finishReason: this.#finishReason,
      isWhole: this.#finishReason !== null,
      error: this.#error,
      hasChoice: this.#hasChoice,
      isCut: isCut || this.#streamed.isSpent,
    };
  }

  #take(type: string, event: JsonObject): StreamDelta {
    this.#hasChoice = true;
    if (type === 'response.output_item.added') this.#begin(event, fieldsOf(event['item']));
    if (type === 'response.output_item.done') {
      const item = fieldsOf(event['item']);
      const slot = this.#slotFor(event, textOf(item['type']));
      slot.item = item;
      slot.isDone = true;
    }
    const piece = textOf(event['delta']);
    if (piece === '') return {};
    if (ARGUMENTS.test(type)) this.#add(event, 'function_call', piece);
    if (TEXT.test(type)) {
      const isSecond = this.#slots.slice(0, -1).some((slot) => isMessage(slot) && slot.pieces.length > 0);
      const slot = this.#slotFor(event, 'message');
      const isFirstPiece = slot.pieces.length === 0;
      const text = this.#add(event, 'message', piece);
      return text === '' ? {} : { text: isSecond && isFirstPiece ? BETWEEN + text : text };
    }
    if (THOUGHT.test(type)) {
      const reasoning = this.#add(event, 'reasoning', piece);
      return reasoning === '' ? {} : { reasoning };
    }
    return {};
  }

  #end(response: JsonObject, type: string): void {
    this.#usage = usageOf({ usage: response['usage'] ?? null }) ?? this.#usage;
    const output = listOf(response['output']).filter((item) => isJsonObject(item));
    const status = textOf(response['status']) || type.slice('response.'.length);
    this.#hasChoice ||= type !== '' || status !== '' || output.length > 0;
    if (output.length > 0) this.#output = output;
    if (response['error'] || status === 'failed') {
      this.#error ??= { error: response['error'] ?? 'The response failed, and its server does not say why.' };
    } else if (status === 'incomplete') {
      const { reason } = fieldsOf(response['incomplete_details']);
      // Whatever else cut it off: its last call may be half a call.
      this.#finishReason = reason === 'content_filter' ? reason : 'length';
    } else if (status === 'cancelled') {
      this.#finishReason = status;
    } else if (status === 'completed' || status === 'done' || (status === '' && output.length > 0)) {
      this.#finishReason = 'completed';
    }
  }

  #add(event: JsonObject, type: string, piece: string): string {
    const taken = this.#streamed.take(piece);
    const slot = this.#slotFor(event, type);
    // A finished item has it all already.
    if (!slot.isDone) slot.pieces.push(taken);
    return taken;
  }

  #begin(event: JsonObject, item: JsonObject): Slot {
    const slot: Slot = { index: event['output_index'], item, isDone: false, pieces: [] };
    this.#slots.push(slot);
    return slot;
  }

  /** By its place in the output: some servers give an item another id in each event. */
  #slotFor(event: JsonObject, type: string): Slot {
    const { output_index: index } = event;
    const slot = this.#slots.findLast((other) => index === undefined || other.index === index);
    return slot && slot.item['type'] === type ? slot : this.#begin(event, { type });
  }
}

function isMessage({ item }: Slot): boolean {
  return item['type'] === 'message';
}

/** An item that was never finished: what its deltas say. */
function itemOf({ item, isDone, pieces }: Slot): JsonObject {
  if (isDone || pieces.length === 0) return item;
  const text = pieces.join('');
  if (item['type'] === 'message') return { ...item, content: [{ type: 'output_text', text }] };
  if (item['type'] === 'function_call') return { ...item, arguments: text };
  return item['type'] === 'reasoning' ? { ...item, summary: [{ type: 'summary_text', text }] } : item;
}
