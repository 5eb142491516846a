/** Whether a run goes round in circles: the same calls with the same results, also in cycles. Pure. */
import { shortHash } from '../conversation/short-hash.js';
import type { ToolCall, ToolMessage } from '../conversation/message.js';

/** Cycles of up to this many turns are seen: A A A, A B A B, A B C A B C. */
const LONGEST_CYCLE = 3;

export interface StuckMemory {
  readonly signatures: string[];
  readonly warned: boolean;
}

export type StuckVerdict = 'moving' | 'warn' | 'stuck';

/** A turn's fingerprint: names, arguments and results, in call order. Ids are not in it: they always differ. */
export function turnSignature(calls: readonly ToolCall[], results: readonly ToolMessage[]): string {
  return shortHash(JSON.stringify([calls.map((call) => [call.name, call.arguments]), results.map(({ text }) => text)]));
}

/**
 * Adds a turn to the memory and judges: a cycle seen `window` times in a row is warned of once, and is `stuck` when the
 * next turn goes on in it. Anything new forgets the warning, so polling whose results change is never stuck.
 */
export function judge(memory: StuckMemory, signature: string, window: number): [StuckMemory, StuckVerdict] {
  const signatures = [...memory.signatures, signature].slice(-LONGEST_CYCLE * window);
  if (!isCycling(signatures, window)) return [{ signatures, warned: false }, 'moving'];
  return memory.warned ? [{ signatures, warned: true }, 'stuck'] : [{ signatures, warned: true }, 'warn'];
}

function isCycling(signatures: readonly string[], window: number): boolean {
  for (let cycle = 1; cycle <= LONGEST_CYCLE; cycle += 1) {
    const tail = signatures.slice(-cycle * window);
    if (tail.length === cycle * window && tail.every((signature, i) => signature === tail[i % cycle])) return true;
  }
  return false;
}

export const STUCK_WARNING =
  'You have made the same tool calls with the same results several times in a row. Nothing will change if you repeat ' +
  'them. Try something different, or answer with what you have. Repeating them once more ends this run.';
