/** Bytes of texts and values as JSON in UTF-8, which is how they travel. Pure. */

/** Bytes of a value as JSON in UTF-8. */
export function jsonBytes(value: object | string): number {
  return utf8Length(JSON.stringify(value));
}

/** Bytes of a text in UTF-8. */
export function utf8Length(text: string): number {
  let bytes = 0;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    // A surrogate pair is 4 bytes: 2 for each half.
    bytes += unit < 0x80 ? 1 : unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 2 : 3;
  }
  return bytes;
}

/** How many bytes the text takes inside a JSON document in UTF-8, without its quotes. */
export function escapedBytes(text: string): number {
  let bytes = 0;
  for (let i = 0; i < text.length; i += 1) bytes += unitBytes(text.charCodeAt(i));
  return bytes;
}

/** The longest start of the text that takes at most `max` bytes inside a JSON document. Splits no surrogate pair. */
export function cutToJsonBytes(text: string, max: number): string {
  let bytes = 0;
  let end = 0;
  while (end < text.length) {
    const width = (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
    bytes += width === 2 ? 4 : unitBytes(text.charCodeAt(end));
    if (bytes > max) break;
    end += width;
  }
  return text.slice(0, end);
}

/** Half of a surrogate pair counts 2: the pair is 4 bytes of UTF-8. */
function unitBytes(unit: number): number {
  // The control characters from 8 to 13 but 11 have escapes of two characters.
  if (unit < 0x20) return unit >= 0x08 && unit <= 0x0d && unit !== 0x0b ? 2 : 6;
  if (unit < 0x80) return unit === 0x22 || unit === 0x5c ? 2 : 1;
  if (unit < 0x800) return 2;
  return unit >= 0xd800 && unit <= 0xdfff ? 2 : 3;
}
