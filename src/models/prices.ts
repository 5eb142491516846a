/** What a model call costs. Pure. */
import type { Usage } from '../conversation/message.js';
import { knownName } from './model-name.js';
import { type Price, PRICE_LIST, type Rates } from './price-list.js';

export type { Price, Rates };

/**
 * The price of a model, or undefined where none is known: then nothing can be said about its cost.
 * @param overrides by model name, exactly as the agent names it; they win.
 */
export function priceOf(model: string, overrides: Readonly<Record<string, Price>> = {}): Price | undefined {
  if (Object.hasOwn(overrides, model)) return overrides[model];
  const name = knownName(model, PRICE_LIST);
  return name === undefined ? undefined : PRICE_LIST[name];
}

/** USD. Cached input is part of the input, and cheaper; reasoning is part of the output. */
export function costUsd(price: Price, usage: Usage): number {
  const rates: Rates = price.long && usage.input > price.long.over ? price.long : price;
  const cached = Math.min(usage.cachedInput ?? 0, usage.input);
  const millionths =
    (usage.input - cached) * rates.input + cached * (rates.cachedInput ?? rates.input) + usage.output * rates.output;
  return millionths / 1_000_000;
}
