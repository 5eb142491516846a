/**
 * Server-sent events from bytes, cut anywhere. Pure; knows nothing of what the events say.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html, with one difference: what stands at the end without
 * its empty line is handed out too, since some servers end right after their last `data:` line.
 */

export interface SseEvent {
  /** The value of the `event:` field; '' where there was none. */
  readonly event: string;
  /** The `data:` lines, joined with a line feed. */
  readonly data: string;
}

export class SseParser {
  readonly #decoder = new TextDecoder();
  /** What has come of a line that has not ended yet. */
  #line: string[] = [];
  /** The last line ended with a CR at the end of a piece: a LF that follows belongs to it. */
  #skipLf = false;
  #event = '';
  #data: string[] = [];

  #pending = 0;

  /** Characters that came since the last event ended: the caller bounds them. */
  get pending(): number {
    return this.#pending;
  }

  /** The events that are whole with these bytes. Comments are none. */
  push(bytes: Uint8Array): SseEvent[] {
    return this.#feed(this.#decoder.decode(bytes, { stream: true }));
  }

  /** The event that was not ended by an empty line, if any. It may be cut: the caller has to check its data. */
  end(): SseEvent[] {
    const events = this.#feed(this.#decoder.decode());
    events.push(...this.#endLine(), ...this.#dispatch());
    return events;
  }

  #feed(text: string): SseEvent[] {
    const events: SseEvent[] = [];
    this.#pending += text.length;
    let from = this.#skipLf && text.startsWith('\n') ? 1 : 0;
    if (text !== '') this.#skipLf = false;
    const lineEnd = /\r\n|\r|\n/g;
    lineEnd.lastIndex = from;
    for (let match = lineEnd.exec(text); match; match = lineEnd.exec(text)) {
      this.#line.push(text.slice(from, match.index));
      from = match.index + match[0].length;
      if (match[0] === '\r' && from === text.length) this.#skipLf = true;
      events.push(...this.#endLine());
    }
    if (from < text.length) this.#line.push(text.slice(from));
    return events;
  }

  #endLine(): SseEvent[] {
    const line = this.#line.length === 1 ? (this.#line[0] ?? '') : this.#line.join('');
    this.#line = [];
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') this.#data.push(value);
    else if (field === 'event') this.#event = value;
    return [];
  }

  #dispatch(): SseEvent[] {
    const events = this.#data.length > 0 ? [{ event: this.#event, data: this.#data.join('\n') }] : [];
    this.#event = '';
    this.#data = [];
    this.#pending = 0;
    return events;
  }
}
