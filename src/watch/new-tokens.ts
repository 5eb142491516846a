/** From the progress that a model call shows in its heartbeats to what is new in it. Pure. */
import type { StreamProgress } from '../activities/stream-progress.js';
import type { Thinking, Tokens } from './agent-event.js';

/** Up to where a call's answer was told. */
export interface Told {
  readonly attempt: number;
  readonly length: number;
  /** Characters of reasoning. */
  readonly thinking: number;
  /** Text of a superseded attempt was told and is not called void yet. */
  readonly isStale: boolean;
}

export const NOTHING_TOLD: Told = { attempt: 0, length: 0, thinking: 0, isStale: false };

/**
 * What is new; undefined where nothing is, or the progress is of an attempt that was superseded.
 * @param lap it is not in the heartbeat, which says only what changes.
 */
export function newTokens(told: Told, progress: StreamProgress, lap: number): [Told, Tokens | Thinking | undefined] {
  const { turn, attempt, thinking = 0 } = progress;
  if (attempt < told.attempt) return [told, undefined];
  const before = attempt > told.attempt ? nextAttempt(told, attempt) : told;
  // Half a character at the end has U+FFFD in its place: it is told when it is whole.
  const text = progress.text.replace(/\uFFFD$/, '');
  const length = progress.length - (progress.text.length - text.length);
  const fresh = length - before.length;
  if (fresh > 0) {
    const skipped = Math.max(0, fresh - text.length);
    const tokens: Tokens = {
      type: 'tokens',
      lap,
      turn,
      attempt,
      text: text.slice(text.length - (fresh - skipped)),
      ...(skipped > 0 && { skipped }),
      ...(before.isStale && { restarted: true }),
    };
    return [{ ...before, length, isStale: false }, tokens];
  }
  if (thinking <= before.thinking) return [before, undefined];
  return [
    { ...before, thinking },
    { type: 'thinking', lap, turn, attempt, characters: thinking },
  ];
}

function nextAttempt({ length, isStale }: Told, attempt: number): Told {
  return { ...NOTHING_TOLD, attempt, isStale: isStale || length > 0 };
}
