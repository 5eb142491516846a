/** One line at the bottom of a terminal that is written over and over. Nothing of it is seen where there is no terminal. */
import { styled } from './output.js';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const EVERY_MS = 120;
/** To its start, and clear. */
export const CLEAR_LINE = '\r\x1b[K';

export class StatusLine {
  private readonly timer: NodeJS.Timeout | undefined;
  private shown = false;
  private frame = 0;

  /** @param text what to show now; null where the line has to stay clear (somebody is writing a line). */
  constructor(
    private readonly text: () => string | null,
    private readonly stream: NodeJS.WriteStream = process.stdout,
  ) {
    if (!stream.isTTY || process.env['TERM'] === 'dumb') return;
    this.timer = setInterval(() => this.draw(), EVERY_MS);
    this.timer.unref();
  }

  /** To be called before anything else is written. */
  clear(): void {
    if (!this.shown) return;
    this.stream.write(CLEAR_LINE);
    this.shown = false;
  }

  stop(): void {
    clearInterval(this.timer);
    this.clear();
  }

  private draw(): void {
    const text = this.text();
    if (text === null) return;
    this.frame = (this.frame + 1) % FRAMES.length;
    // A line that wraps could not be cleared.
    const line = [...`${FRAMES[this.frame]} ${text}`].slice(0, (this.stream.columns || 80) - 1).join('');
    this.stream.write(CLEAR_LINE + styled('dim', line, this.stream));
    this.shown = true;
  }
}
