/** What is known of a model's price. Pure. */
import type { Price } from '../agents/cost.js';
import { knownName } from './model-name.js';
import { PRICE_LIST } from './price-list.js';

/**
 * The price of a model, or undefined where none is known: then nothing can be said about its cost.
 * @param overrides by model name, exactly as the agent names it; they win.
 */
export function priceOf(model: string, overrides: Readonly<Record<string, Price>> = {}): Price | undefined {
  if (Object.hasOwn(overrides, model)) return overrides[model];
  const name = knownName(model, PRICE_LIST);
  return name === undefined ? undefined : PRICE_LIST[name];
}
