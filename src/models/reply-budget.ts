/**
 * How large one reply may become. A reply is a payload of the workflow's history, which takes 2 MB at most, and is sent
 * again with the next request. Sizes are bytes inside a JSON document. Pure.
 */
import type { Json } from '../conversation/json.js';
import { cutToJsonBytes, escapedBytes } from '../conversation/json-bytes.js';

/** Text and calls. Over it, the answer is cut off and counts as ended by length. */
export const MAX_ANSWER_BYTES = 1_000_000;
/** Readable thinking. Over it, the rest is left out: it is for people only. */
export const MAX_REASONING_BYTES = 250_000;
/** Fields to be sent back. Over it, all of them are left out: half a signature is refused, none is not. */
export const MAX_EXTRA_BYTES = 500_000;

export class Budget {
  #left: number;
  #isSpent = false;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  /** True once something did not fit. */
  get isSpent(): boolean {
    return this.#isSpent;
  }

  /** As much of the text as fits. */
  readonly take = (text: string): string => {
    if (text === '') return text;
    const bytes = this.#isSpent ? Infinity : escapedBytes(text);
    if (bytes <= this.#left) {
      this.#left -= bytes;
      return text;
    }
    const part = this.#isSpent ? '' : cutToJsonBytes(text, this.#left);
    this.#isSpent = true;
    return part;
  };

  /** Whether the value fits; if so, it counts. */
  readonly fits = (value: Json): boolean => {
    const bytes = this.#isSpent ? Infinity : escapedBytes(JSON.stringify(value));
    if (bytes > this.#left) this.#isSpent = true;
    else this.#left -= bytes;
    return !this.#isSpent;
  };

  /** The joined pieces. A pair whose second half did not fit any more is left out whole. */
  join(pieces: readonly string[]): string {
    const text = pieces.join('');
    const last = text.charCodeAt(text.length - 1);
    return this.#isSpent && last >= 0xd800 && last <= 0xdbff ? text.slice(0, -1) : text;
  }
}
