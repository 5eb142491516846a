/**
 * What a refusal teaches about a server: the traits with which the same request is worth another try at once. Pure.
 * A lesson changes the form of a request, never its meaning: parameters that only tune an answer are left out,
 * a response format is not.
 */
import type { JsonObject } from '../conversation/json.js';
import { FINAL_ANSWER_NAME } from '../conversation/json-answer.js';
import type { ErrorWords } from './error-words.js';
import { fieldsOf, listOf, textOf } from './json-text.js';
import type { Traits } from './traits.js';
import { OWN_FIELDS } from './wire.js';

/** May be left out where a server does not know them, or not with this value. */
export const TUNING: readonly string[] = [
  'parallel_tool_calls',
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'frequency_penalty',
  'presence_penalty',
  'repetition_penalty',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'seed',
  'store',
  'metadata',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_retention',
  'service_tier',
  'reasoning_effort',
  'verbosity',
];

export const UNSUPPORTED =
  /unsupported|not supported|does not support|doesn't support|unknown|unrecognized|unexpected|not permitted|not allowed|forbidden|not enabled|invalid (field|parameter|argument)|additional propert/i;

/**
 * The traits after the lesson, or null where the refusal teaches nothing new.
 * @param body the request as it was sent
 */
export function learn(traits: Traits, status: number, refusal: ErrorWords, body: JsonObject): Traits | null {
  const lesson = lessonOf(traits, status, refusal, body);
  return lesson ? { ...traits, ...lesson } : null;
}

function lessonOf(traits: Traits, status: number, refusal: ErrorWords, body: JsonObject): Partial<Traits> | null {
  const { text } = refusal;
  // Chat templates that raise are answered with 500 by some servers.
  if (!traits.alternate && /roles must (be )?alternat|must alternate between/i.test(text)) {
    return { alternate: true, userAfterTool: false };
  }
  if (traits.userAfterTool && /unexpected role '?user'? after role '?tool/i.test(text)) return { userAfterTool: false };
  if (traits.instructions !== 'user' && SYSTEM_REFUSED.test(text)) return { instructions: 'user' };
  const names = listOf(body['tools']).map((tool) => textOf(fieldsOf(fieldsOf(tool)['function'])['name']));
  const toolForm = toolFormLesson(names, refusal);
  if (toolForm) return toolForm;
  if (status !== 400 && status !== 422) return null;
  const asksForm = fieldsOf(body['response_format'])['type'] === 'json_schema';
  const form = asksForm ? outputLesson(traits.output, refusal) : null;
  if (form) return form;
  return idLesson(traits, text) ?? contentLesson(traits, refusal) ?? namedLesson(traits, refusal, body);
}

/** Servers say it in many words; it is only read as such where a form was asked for. */
const FORMAT_REFUSED = /response[ _]?(format|mime)|json[ _]schema|structured output|text\.format/i;

/** The next simpler way to ask for a form, where the refusal is about the field that asks for it. */
export function outputLesson(
  output: Traits['output'],
  { text, places }: Pick<ErrorWords, 'text' | 'places'>,
): Pick<Traits, 'output'> | null {
  if (!FORMAT_REFUSED.test(`${text} ${places.join(' ')}`)) return null;
  const isStrictness = output === 'strict' && /invalid schema|strict/i.test(text);
  return { output: isStrictness ? 'schema' : 'tool' };
}

/** Local servers say it in many words, llama.cpp with 500, OpenRouter with 404. */
const TOOLS_REFUSED =
  /(does|do|did|is|are) ?n[o']t (yet )?(support|have|allow)\w* ?(\w+ ){0,2}(tool|function)|\b(tools?|tool (use|call\w*|choice)|function[ _-]?call\w*)\b.{0,30}\b(unsupported|not (supported|enabled|available)|requires?)\b|support (tool|function)/i;

/**
 * The simplest way to ask for a form, where a model without tools was given the one that asks for it.
 * @param tools the names of all that the request has.
 */
export function toolFormLesson(
  tools: readonly string[],
  { text }: Pick<ErrorWords, 'text'>,
): Pick<Traits, 'output'> | null {
  const isOnlyForm = tools.length === 1 && tools[0] === FINAL_ANSWER_NAME;
  return isOnlyForm && TOOLS_REFUSED.test(text) ? { output: 'words' } : null;
}

const SYSTEM_REFUSED =
  /system role (is )?not supported|developer instruction is not enabled|(role'?|roles?) does(n't| not) support '?(system|developer)|unsupported role:? '?(system|developer)/i;

function idLesson(traits: Traits, text: string): Partial<Traits> | null {
  if (!/tool[_ -]?(call|use)/i.test(text)) return null;
  const format = /length of 9/i.test(text)
    ? 'alnum9'
    : /maximum length:? 40|at most 40/i.test(text)
      ? 'max40'
      : /\bid\b.*pattern|pattern.*\bid\b/i.test(text)
        ? 'safe64'
        : traits.toolCallId;
  return format === traits.toolCallId ? null : { toolCallId: format };
}

function contentLesson(traits: Traits, { text, places }: ErrorWords): Partial<Traits> | null {
  const isReasoningMissing = /reasoning_content/.test(text) && /missing|must be (passed|provided)|required/i.test(text);
  if (isReasoningMissing && traits.reasoningContent !== 'required_on_calls') {
    return { reasoningContent: 'required_on_calls', withoutExtra: without(traits.withoutExtra, 'reasoning_content') };
  }
  const isContent = /\bcontent\b/i.test(`${text} ${places.join(' ')}`);
  if (
    traits.thinkingParts &&
    isContent &&
    /valid string|must be a string|should be.{0,20}string|thinking/i.test(text)
  ) {
    return { thinkingParts: false };
  }
  if (traits.emptyContent === 'null' && isContent && /valid string|must be a string|null|none is not/i.test(text)) {
    return { emptyContent: 'text' };
  }
  return null;
}

function without(list: readonly string[], entry: string): readonly string[] {
  return list.filter((other) => other !== entry);
}

/** The refusal names something that was sent. */
function namedLesson(traits: Traits, refusal: ErrorWords, body: JsonObject): Partial<Traits> | null {
  const said = `${refusal.text} ${refusal.places.join(' ')} ${[...refusal.codes].join(' ')}`;
  const words = new Set(said.match(/[a-zA-Z0-9_]+/g));
  const names = (key: string) => words.has(key);
  if (/invalid schema for function/i.test(said) && sendsStrict(body)) return { strictTools: false };
  if (!UNSUPPORTED.test(said)) return null;
  const other = traits.maxTokens === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
  if (traits.maxTokens in body && names(traits.maxTokens)) {
    // Refused under both names: then it cannot be said at all.
    const isSecond = traits.without.includes(other);
    return { maxTokens: other, without: [...traits.without, traits.maxTokens, ...(isSecond ? [other] : [])] };
  }
  if ('stream_options' in body && (names('stream_options') || names('include_usage'))) return { streamOptions: false };
  if (body['tool_choice'] === 'none' && names('tool_choice')) return { toolChoiceNone: false };
  if (sendsStrict(body) && names('strict')) return { strictTools: false };
  const tuning = TUNING.find((key) => key in body && names(key));
  if (tuning) return { without: [...traits.without, tuning] };
  const extra = sentExtras(body).find((key) => names(key));
  return extra === undefined ? null : { withoutExtra: [...traits.withoutExtra, extra] };
}

function sendsStrict(body: JsonObject): boolean {
  return listOf(body['tools']).some((tool) => fieldsOf(fieldsOf(tool)['function'])['strict'] === true);
}

/** The fields of messages and calls that came from a server, and were sent back. */
function sentExtras(body: JsonObject): string[] {
  const messages = listOf(body['messages']).map(fieldsOf);
  const calls = messages.flatMap((message) => listOf(message['tool_calls']).map(fieldsOf));
  return [...new Set([...messages, ...calls].flatMap(Object.keys))].filter((key) => !OWN_FIELDS.has(key));
}
