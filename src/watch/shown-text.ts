/** For those who print tokens as they come: what of an answer is not on the screen yet. Pure. */
import type { LiveEvent } from './agent-event.js';

/** The text of the answer under way that was shown. null: nothing of it was. */
export type ShownText = {
  /** Characters from the start of the answer to the end of `text`. */
  readonly length: number;
  /** What was shown without a gap. */
  readonly text: string;
} | null;

/** What to print for an event. `restart`: text was shown that is void; begin on a new line. */
export interface ToShow {
  readonly text: string;
  readonly restart?: true;
}

/**
 * Folds live events: what to print now, and what is shown then. Prints tokens as they come, and of an answer only the
 * rest; the whole of it where the tokens were of another text. Events without text print nothing.
 *
 *     let shown: ShownText = null;
 *     for await (const event of run.live()) {
 *       const [next, print] = showText(shown, event);
 *       shown = next;
 */
export function showText(shown: ShownText, event: LiveEvent): [ShownText, ToShow] {
  if (event.type === 'tokens') {
    const isNew = shown === null || event.restarted === true;
    const before = isNew ? { length: 0, text: '' } : shown;
    const skipped = event.skipped ?? 0;
    const length = before.length + skipped + event.text.length;
    const text = skipped > 0 ? event.text : before.text + event.text;
    return [
      { length, text },
      { text: event.text, ...(event.restarted && { restart: true }) },
    ];
  }
  if (event.type === 'model_answered') {
    if (shown === null) return [null, { text: event.text }];
    const isSame = event.text.slice(shown.length - shown.text.length, shown.length) === shown.text;
    return [null, isSame ? { text: event.text.slice(shown.length) } : { text: event.text, restart: true }];
  }
  if (event.type === 'model_failed') return [null, { text: '' }];
  return [shown, { text: '' }];
}
