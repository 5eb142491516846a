/** The JSON object in a model's answer. Pure: used on both sides of the sandbox and by the client. */
import { depthOf, isJsonObject, MAX_DEPTH, type JsonObject } from './json.js';

/** The tool by which an answer in a form is given, where a server has no other means. The run answers the call itself. */
export const FINAL_ANSWER_NAME = 'final_answer';

const FENCE = '```';

/**
 * The object that an answer is: alone, in a Markdown fence, or with words around it, as models write where they are only
 * asked in words. null where there is none.
 */
export function objectIn(answer: string): JsonObject | null {
  const around = answer.slice(answer.indexOf('{'), answer.lastIndexOf('}') + 1);
  for (const candidate of [answer, ...fenced(answer), around]) {
    const value = parsed(candidate);
    if (value !== null) return value;
  }
  return null;
}

function fenced(answer: string): string[] {
  const blocks: string[] = [];
  for (let open = answer.indexOf(FENCE); open >= 0;) {
    const from = answer.indexOf('\n', open);
    const to = from < 0 ? -1 : answer.indexOf(FENCE, from);
    if (to < 0) break;
    blocks.push(answer.slice(from, to));
    open = answer.indexOf(FENCE, to + FENCE.length);
  }
  return blocks;
}

function parsed(text: string): JsonObject | null {
  if (!text.includes('{') || depthOf(text) > MAX_DEPTH) return null;
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}
