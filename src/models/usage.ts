/** A provider's usage figures, in the shapes they come in, to `Usage`. Pure. */
import type { Usage } from '../conversation/message.js';
import { isJsonObject, type JsonObject } from '../conversation/json.js';
import { fieldsOf, listOf } from './json-text.js';

/**
 * The usage that a chunk tells, or null. It may sit at the top, in `x_groq` (Groq) or in the choice (Moonshot).
 * All figures zero means that the server counts nothing: a prompt is never empty.
 */
export function usageOf(chunk: JsonObject): Usage | null {
  const places = [chunk['usage'], fieldsOf(chunk['x_groq'])['usage'], fieldsOf(listOf(chunk['choices'])[0])['usage']];
  for (const place of places) {
    const usage = isJsonObject(place) ? read(place) : null;
    if (usage) return usage;
  }
  return null;
}

function read(figures: JsonObject): Usage | null {
  const total = count(figures['total_tokens']);
  const told = {
    input: count(figures['prompt_tokens']) ?? count(figures['input_tokens']),
    output: count(figures['completion_tokens']) ?? count(figures['output_tokens']),
  };
  const input = told.input ?? rest(total, told.output);
  const output = told.output ?? rest(total, told.input);
  if (input === undefined || output === undefined || input + output === 0) return null;
  const cached =
    count(fieldsOf(figures['prompt_tokens_details'] ?? figures['input_tokens_details'])['cached_tokens']) ??
    count(figures['prompt_cache_hit_tokens']) ??
    count(figures['cached_tokens']) ??
    0;
  const outputDetails = fieldsOf(figures['completion_tokens_details'] ?? figures['output_tokens_details']);
  const reasoning = count(outputDetails['reasoning_tokens']) ?? 0;
  // Some count it beside the output instead of in it, and some only in the total.
  const thinking = Math.max(0, (total ?? 0) - input - output);
  return {
    input,
    output,
    // A part is never more than its whole.
    ...(cached > 0 && { cachedInput: Math.min(cached, input) }),
    ...(reasoning > 0 && thinking === 0 && { reasoning: Math.min(reasoning, output) }),
    ...(thinking > 0 && { thinking }),
  };
}

function rest(total: number | undefined, part: number | undefined): number | undefined {
  return total === undefined || part === undefined || total < part ? undefined : total - part;
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.round(value) : undefined;
}
