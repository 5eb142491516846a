/** What a server of the Responses API takes and refuses, and what its refusals teach. Pure. */
import type { JsonObject } from '../../conversation/json.js';
import type { ErrorWords } from '../error-words.js';
import { fieldsOf, listOf, textOf } from '../json-text.js';
import type { Lesson } from '../openai-provider.js';
import { outputLesson, toolFormLesson, TUNING, UNSUPPORTED } from '../refusal-lesson.js';
import { type Traits, traitsFor } from '../traits.js';

type Shared = 'toolCallId' | 'toolChoiceNone' | 'strictTools' | 'output' | 'outputWithTools' | 'without';

export interface ResponsesTraits extends Pick<Traits, Shared> {
  /** `include: ['reasoning.encrypted_content']` is taken: without storage, reasoning can only be sent back with it. */
  readonly encryptedReasoning: boolean;
  /** What the model has answered goes back item by item, as it came; or, `plain`, as texts and calls alone. */
  readonly items: 'as_came' | 'plain';
  /** Ids of items that the server has refused: the answers that have them go back plain, others as they came. */
  readonly refusedItems: ReadonlySet<string>;
}

export function responsesTraits(
  baseUrl: string,
  model: string,
  overrides: Partial<ResponsesTraits> = {},
): ResponsesTraits {
  const { toolChoiceNone, strictTools, output, outputWithTools, without } = traitsFor(baseUrl, model);
  return {
    // https://platform.openai.com/docs/api-reference/responses/create: call_id has 64 characters at most.
    toolCallId: 'safe64',
    toolChoiceNone,
    strictTools,
    output,
    outputWithTools,
    without,
    encryptedReasoning: true,
    items: 'as_came',
    refusedItems: new Set(),
    ...overrides,
  };
}

/** Of this model, whatever the conversation. */
const NO_REASONING = /reasoning (input )?items? can only be|does not support reasoning|reasoning.{0,40}not supported/i;
/** Of items that another model, key or organisation has made, or whose neighbours are gone. */
const ITEMS_REFUSED = /encrypted[ _]content|item .{0,120}(not found|provided without)/i;

/** Ids kept of items that were refused; beyond, each request of a conversation with older ones is refused first. */
const MAX_REFUSED_ITEMS = 20_000;

/** All items of this conversation, made so far: newer ones are this model's own. */
function refusedItemsLesson(traits: ResponsesTraits, body: JsonObject): Lesson<ResponsesTraits> {
  const sent = listOf(body['input']).map((item) => textOf(fieldsOf(item)['id']));
  const ids = sent.filter((id) => id !== '' && !traits.refusedItems.has(id));
  if (ids.length === 0) return { traits: { ...traits, items: 'plain' }, isLasting: false };
  const refusedItems = new Set([...traits.refusedItems, ...ids].slice(-MAX_REFUSED_ITEMS));
  return { traits: { ...traits, refusedItems }, isLasting: true };
}

/** @param body the request as it was sent */
export function learnResponses(
  traits: ResponsesTraits,
  status: number,
  refusal: ErrorWords,
  body: JsonObject,
): Lesson<ResponsesTraits> | null {
  // 404: an item that the server does not know (any more).
  if (![400, 404, 422].includes(status)) return null;
  const lasting = (lesson: Partial<ResponsesTraits>) => ({ traits: { ...traits, ...lesson }, isLasting: true });
  const said = `${refusal.text} ${refusal.places.join(' ')} ${[...refusal.codes].join(' ')}`;
  const isUnsupported = UNSUPPORTED.test(said);
  if (traits.encryptedReasoning && isUnsupported && /encrypted[ _]content|\binclude\b/i.test(said)) {
    return lasting({ encryptedReasoning: false });
  }
  if (traits.items === 'as_came') {
    if (NO_REASONING.test(said)) return lasting({ items: 'plain' });
    if (ITEMS_REFUSED.test(said)) return refusedItemsLesson(traits, body);
  }
  const names = listOf(body['tools']).map((tool) => textOf(fieldsOf(tool)['name']));
  const toolForm = toolFormLesson(names, refusal);
  if (toolForm) return lasting(toolForm);
  const asksForm = fieldsOf(fieldsOf(body['text'])['format'])['type'] === 'json_schema';
  const form = asksForm ? outputLesson(traits.output, refusal) : null;
  if (form) return lasting(form);
  const sendsStrict = listOf(body['tools']).some((tool) => fieldsOf(tool)['strict'] === true);
  if (sendsStrict && /invalid schema for function/i.test(said)) return lasting({ strictTools: false });
  if (!isUnsupported) return null;
  const words = new Set(said.match(/[a-zA-Z0-9_]+/g));
  if (body['tool_choice'] === 'none' && words.has('tool_choice')) return lasting({ toolChoiceNone: false });
  if (sendsStrict && words.has('strict')) return lasting({ strictTools: false });
  const refused = [...TUNING, 'max_output_tokens', 'truncation'].find((key) => key in body && words.has(key));
  return refused === undefined ? null : lasting({ without: [...traits.without, refused] });
}
