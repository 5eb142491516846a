/** How much a model can read and write in one request. Data and one function; pure. */

/** For models that are not listed: small enough for nearly all of them. */
const DEFAULT_CONTEXT_WINDOW = 128_000;

/** By the beginning of the name without its maker; the first that fits counts. Tokens, input and output together. */
const WINDOWS: readonly (readonly [RegExp, number])[] = [
  [/^gpt-6/, 1_050_000],
  [/^gpt-5\.[4-9](?!.*(mini|nano))/, 1_050_000],
  // 400,000 in all, of which the input may be 272,000.
  [/^gpt-5/, 400_000],
  [/^gpt-4\.1/, 1_047_576],
  [/^gpt-4o/, 128_000],
  [/^gpt-4-turbo/, 128_000],
  [/^gpt-4/, 8_192],
  [/^gpt-3\.5/, 16_385],
  [/^o1-(mini|preview)/, 128_000],
  [/^o[134]/, 200_000],
  [/^gpt-oss/, 131_072],
  [/^claude/, 200_000],
  [/^gemini/, 1_048_576],
  [/^deepseek-(chat|reasoner|flash|v[4-9])/, 1_000_000],
  [/^deepseek/, 128_000],
  [/^grok-4-fast|^grok-4\.1-fast/, 2_000_000],
  [/^grok-4/, 256_000],
  [/^grok/, 131_072],
  [/^(mistral-(large|medium|small)|magistral|devstral)/, 128_000],
  [/^kimi-k2/, 256_000],
  [/^qwen3/, 131_072],
  [/^llama-?3/, 128_000],
];

/** Tokens that the model's context holds, 128,000 where it is not known. */
export function contextWindowOf(model: string): number {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase();
  return WINDOWS.find(([beginning]) => beginning.test(name))?.[1] ?? DEFAULT_CONTEXT_WINDOW;
}
