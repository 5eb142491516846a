/** Replacing an exact text by another. Pure. */
import { ToolError } from '../agents/tool-error.js';

/**
 * @param shown the file, as it stands in a sentence
 * @returns the new text, and "1 occurrence (line 3)" for the result
 * @throws ToolError where `oldText` is not there, not alone (without `all`), empty, or the same as `newText`
 */
export function replaceText(
  shown: string,
  text: string,
  oldText: string,
  newText: string,
  all: boolean,
): { readonly text: string; readonly summary: string } {
  if (oldText === '')
    throw new ToolError('old_text is empty. Give the text to be replaced; write_file writes a whole file.');
  if (oldText === newText) throw new ToolError('old_text and new_text are the same, so there is nothing to change.');
  // Models write "\n". In a file with Windows line ends throughout, that means "\r\n".
  const isWindows = text.includes('\r\n') && !/(^|[^\r])\n/.test(text);
  const asInFile = (part: string) => (isWindows ? part.replaceAll(/\r?\n/g, '\r\n') : part);
  const old = asInFile(oldText);
  const places = placesOf(text, old);
  const lines = linesOf(text, places);
  if (places.length === 0) {
    throw new ToolError(
      `old_text does not occur in ${shown}. It must be exactly as in the file, spaces and line ends included; read the file again.`,
    );
  }
  if (places.length > 1 && !all) {
    throw new ToolError(
      `old_text occurs more than once in ${shown} (${lines}). Take more of the text around the one that is meant, or set all.`,
    );
  }
  const parts = text.split(old);
  const count = parts.length - 1;
  return {
    text: parts.join(asInFile(newText)),
    summary: `${count} ${count === 1 ? 'occurrence' : 'occurrences'} (${lines})`,
  };
}

const MAX_PLACES = 10;

/** The first places, overlapping ones too: "aa" in "aaa" leaves open which is meant. One more than are shown. */
function placesOf(text: string, part: string): readonly number[] {
  const places: number[] = [];
  for (let at = text.indexOf(part); at !== -1 && places.length <= MAX_PLACES; at = text.indexOf(part, at + 1)) {
    places.push(at);
  }
  return places;
}

function linesOf(text: string, places: readonly number[]): string {
  const shown = places.slice(0, MAX_PLACES).map((place) => text.slice(0, place).split('\n').length);
  return `${places.length === 1 ? 'line' : 'lines'} ${shown.join(', ')}${places.length > MAX_PLACES ? ', …' : ''}`;
}
