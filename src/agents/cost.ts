/** What a model call costs, at given rates. Pure, and knows no price list: the workflow counts with it too. */
import type { Usage } from '../conversation/message.js';
import type { AgentSpec } from './spec.js';

/** USD per million tokens. */
export interface Rates {
  readonly input: number;
  /** Input served from the provider's cache. Where it is unknown, such input costs as much as any other. */
  readonly cachedInput?: number;
  readonly output: number;
}

export interface Price extends Rates {
  /** Other rates for a whole request with more input tokens than `over`. */
  readonly long?: Rates & { readonly over: number };
}

/** The rates of one request with so many input tokens. */
export function ratesFor(price: Price, inputTokens: number): Rates {
  return price.long && inputTokens > price.long.over ? price.long : price;
}

/** USD, of one request. Cached input is part of the input, and cheaper; reasoning is part of the output, thinking beside it costs as much. */
export function costUsd(price: Price, usage: Usage): number {
  const rates = ratesFor(price, usage.input);
  const cached = Math.min(usage.cachedInput ?? 0, usage.input);
  const output = usage.output + (usage.thinking ?? 0);
  const millionths =
    (usage.input - cached) * rates.input + cached * (rates.cachedInput ?? rates.input) + output * rates.output;
  return millionths / 1_000_000;
}

/** Whatever a run may ask: its model, those after it, and the one that writes summaries. */
export function modelsOf({ model, fallbackModels, context }: Asking): readonly string[] {
  return [model.name, ...fallbackModels, ...(context.compactModel === undefined ? [] : [context.compactModel])];
}

/** A model that the run may use and whose price is not known: no limit in dollars can be kept with it. */
export function unpricedModel({ prices, ...asking }: Asking & Pick<AgentSpec, 'prices'>): string | undefined {
  return modelsOf(asking).find((name) => prices[name] === undefined);
}

type Asking = Pick<AgentSpec, 'model' | 'fallbackModels'> & {
  readonly context: Pick<AgentSpec['context'], 'compactModel'>;
};
