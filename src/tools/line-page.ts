/** Picks a range of lines out of a text that comes in pieces. Pure; keeps no more than the page. */
import { cut } from '../conversation/cut-text.js';

export class LinePage {
  /** Lines that have begun so far: all there are, once everything was added. */
  lines = 0;
  /** The page's text, exactly as in the file. */
  text = '';
  /** The page's last line; `from - 1` as long as it has none. */
  last: number;
  /** Set where one line alone was too long, and was cut: how many characters of it are missing. */
  missing = 0;
  private line = '';
  private lineChars = 0;
  private lineOpen = false;
  private full = false;

  constructor(
    /** First line wanted; the first of all is 1. */
    readonly from: number,
    private readonly count: number,
    private readonly maxChars: number,
  ) {
    this.last = from - 1;
  }

  /** Nothing that comes can change the page any more. */
  get done(): boolean {
    return this.full || this.last >= this.from + this.count - 1;
  }

  add(piece: string): void {
    for (let start = 0; start < piece.length;) {
      const newline = piece.indexOf('\n', start);
      const end = newline === -1 ? piece.length : newline + 1;
      if (!this.lineOpen) this.lines += 1;
      this.lineOpen = true;
      if (this.lines >= this.from && !this.done) {
        // One more than fits: it tells a line that is too long, and keeps a pair of surrogates together.
        if (this.line.length <= this.maxChars)
          this.line += piece.slice(start, start + Math.min(end - start, this.maxChars + 1));
        this.lineChars += end - start;
      }
      if (newline !== -1) this.endLine();
      start = end;
    }
  }

  /** To be called after the last piece. */
  end(): void {
    if (this.lineOpen) this.endLine();
  }

  private endLine(): void {
    this.lineOpen = false;
    if (this.lines < this.from || this.done) return;
    const room = this.maxChars - this.text.length;
    if (this.lineChars > room && this.text !== '') {
      this.full = true;
    } else {
      const kept = this.lineChars > room ? cut(this.line, room) : this.line;
      this.text += kept;
      this.missing = this.lineChars - kept.length;
      this.full = this.missing > 0;
      this.last = this.lines;
    }
    this.line = '';
    this.lineChars = 0;
  }
}
