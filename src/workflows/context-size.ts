/** How many tokens a conversation has: what the provider counted, and an estimate of what is new. Pure. */
import { estimateMessages, estimateTokens } from '../conversation/estimate.js';
import type { Run } from './run.js';

type Sized = Pick<Run, 'spec' | 'state'>;

/** Tokens that the next call will send. */
export function estimatedInput(run: Sized): number {
  const { head, headTokens, messages } = run.state.conversation;
  if (headTokens !== null) return headTokens + estimateMessages(messages.slice(head.length));
  return fixedTokens(run) + estimateMessages(messages);
}

/** Instructions and tools, which go with every call. By estimate. */
export function fixedTokens({ spec }: Sized): number {
  return estimateTokens(spec.instructions) + estimateTokens(JSON.stringify(spec.tools));
}

/**
 * How many tokens of this model go on one by estimate. Bounded: some servers count only what was not cached, and some
 * count wrong.
 */
export function tokensPerEstimate(run: Sized): number {
  const { head, headTokens, messages } = run.state.conversation;
  if (headTokens === null) return 1;
  const estimate = fixedTokens(run) + estimateMessages(messages.slice(0, head.length));
  return Math.min(2, Math.max(0.7, headTokens / estimate));
}
