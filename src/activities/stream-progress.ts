/** Tokens while they are made, as heartbeat details: the newest end of the text, tagged with turn and attempt. */
import { wellFormed } from '../conversation/cut-text.js';
import type { StreamDelta } from '../models/provider.js';
import type { Heartbeat } from './heartbeat.js';

/** Characters of text in one heartbeat. A watcher that polls more often than these are made misses none. */
const TAIL_CHARS = 4000;

/** Heartbeat details of `callModel`. A higher attempt of the same turn supersedes a lower one. */
export interface StreamProgress {
  readonly turn: number;
  readonly attempt: number;
  /** Characters of the answer so far; `text` is the last of them. */
  readonly length: number;
  readonly text: string;
  /** Present while the model thinks and has not written yet: characters of its reasoning. */
  readonly thinking?: number;
}

export function streamProgress(
  call: { turn: number; attempt: number },
  heartbeat: Heartbeat,
): (delta: StreamDelta) => void {
  let tail = '';
  let length = 0;
  let thinking = 0;
  return (delta) => {
    thinking += delta.reasoning?.length ?? 0;
    if (delta.text) {
      length += delta.text.length;
      tail = (tail + delta.text).slice(-TAIL_CHARS);
    }
    if (!delta.text && !delta.reasoning) return;
    const details: StreamProgress = { ...call, length, text: wellFormed(tail), ...(length === 0 && { thinking }) };
    heartbeat.progress(details);
  };
}
