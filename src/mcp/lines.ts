/** Cuts a stream of text into lines. Knows nothing of what they say. */

/** Invariant: the parts hold no line end, and together at most `maxChars` characters. */
export class Lines {
  private parts: string[] = [];
  private chars = 0;

  /** @param onTooLong gets what there is of a line that grows longer than `maxChars`; the rest of it is dropped. */
  constructor(
    private readonly maxChars: number,
    private readonly onLine: (line: string) => void,
    private readonly onTooLong: (beginning: string) => void,
  ) {}

  private dropping = false;

  push(text: string): void {
    let rest = text;
    for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n')) {
      this.keep(rest.slice(0, end));
      rest = rest.slice(end + 1);
      this.end();
    }
    this.keep(rest);
  }

  /** The last line, where it has no end. */
  end(): void {
    const line = this.parts.join('').replace(/\r$/, '');
    this.parts = [];
    this.chars = 0;
    if (!this.dropping && line !== '') this.onLine(line);
    this.dropping = false;
  }

  private keep(text: string): void {
    if (this.dropping || text === '') return;
    this.parts.push(text);
    this.chars += text.length;
    if (this.chars <= this.maxChars) return;
    this.dropping = true;
    this.onTooLong(this.parts.join('').slice(0, this.maxChars));
    this.parts = [];
    this.chars = 0;
  }
}
