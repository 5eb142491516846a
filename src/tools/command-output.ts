/** Keeps the beginning and the end of a text that may go on for ever. Pure. */
import { cut, cutFront } from '../conversation/cut-text.js';

export class CommandOutput {
  private head = '';
  private tail = '';
  private headFull = false;
  private total = 0;

  /** @param maxChars of the beginning, and as much again of the end */
  constructor(private readonly maxChars: number) {}

  add(piece: string): void {
    this.total += piece.length;
    let rest = piece;
    if (!this.headFull) {
      const taken = cut(piece, this.maxChars - this.head.length);
      this.head += taken;
      rest = piece.slice(taken.length);
      this.headFull = rest !== '';
    }
    this.tail += rest;
    // Not at every piece: cutting costs as much as is kept.
    if (this.tail.length > 2 * this.maxChars) this.tail = cutFront(this.tail, this.maxChars);
  }

  text(): string {
    const tail = cutFront(this.tail, this.maxChars);
    const missing = this.total - this.head.length - tail.length;
    return missing === 0 ? this.head + tail : `${this.head}\n[… ${missing} characters left out …]\n${tail}`;
  }
}
