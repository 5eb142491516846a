/** The JSON object in a model's answer. Pure: used on both sides of the sandbox and by the client. */
import { isJsonObject, type JsonObject } from './json.js';

/**
 * The object that an answer is: alone, in a Markdown fence, or with words around it, as models write where they are only
 * asked in words. null where there is none.
 */
export function objectIn(answer: string): JsonObject | null {
  const fenced = /```[a-z]*\s*\n([\s\S]*?)\n\s*```/i.exec(answer)?.[1];
  const around = answer.slice(answer.indexOf('{'), answer.lastIndexOf('}') + 1);
  for (const candidate of [answer, fenced, around]) {
    const value = parsed(candidate);
    if (value !== null) return value;
  }
  return null;
}

function parsed(text: string | undefined): JsonObject | null {
  if (text === undefined || !text.includes('{')) return null;
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}
