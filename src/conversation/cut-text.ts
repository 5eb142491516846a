/**
 * Cuts on whole characters. Pure, used on both sides of the sandbox; knows nothing of what it cuts.
 *
 * Lengths are UTF-16 units (`String.length`). A whole character is a code point: no surrogate pair is ever split.
 * Joined emoji may be: telling those apart needs Unicode tables, which differ between Node versions and would make a
 * workflow's replay depend on them.
 */

/** `text` with each lone surrogate replaced by U+FFFD: strict JSON parsers refuse a conversation that has one. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Cs}/gu, '\uFFFD');
}

/** The first characters of `text`, at most `max`. */
export function cut(text: string, max: number): string {
  return text.length <= max ? text : text.slice(0, boundary(text, Math.max(0, Math.floor(max))));
}

/** The last characters of `text`, at most `max`. */
export function cutFront(text: string, max: number): string {
  if (text.length <= max) return text;
  const start = text.length - Math.max(0, Math.floor(max) || 0);
  return text.slice(boundary(text, start) === start ? start : start + 1);
}

/** At most `max` characters in one line, an ellipsis at the end where some are missing. */
export function oneLine(text: string, max: number): string {
  const flat = text.replace(/\s+/g, ' ').trim();
  return flat.length <= max ? flat : `${cut(flat, max - 1)}…`;
}

/** At most `maxChars` of `text`, a marker at the end included that says how many characters are missing. */
export function cutText(text: string, maxChars: number): string {
  return shorten(text, maxChars, 1);
}

/** At most `maxChars` of `text`: its head, a marker that says how many characters are missing, its tail. */
export function headAndTail(text: string, maxChars: number): string {
  return shorten(text, maxChars, 0.6);
}

function shorten(text: string, maxChars: number, headShare: number): string {
  if (text.length <= maxChars) return text;
  const room = Math.floor(maxChars) - marker(text.length).length;
  if (!(room >= 1)) return cut(text, maxChars);
  const headEnd = boundary(text, Math.ceil(room * headShare));
  const tail = cutFront(text, room - Math.ceil(room * headShare));
  return text.slice(0, headEnd) + marker(text.length - headEnd - tail.length) + tail;
}

function marker(missing: number): string {
  return `\n[… ${missing} characters left out …]\n`;
}

/** `at`, or one less where that would be inside a surrogate pair. */
function boundary(text: string, at: number): number {
  return isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at)) ? at - 1 : at;
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
