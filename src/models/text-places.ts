/** Several texts of one answer kept as one, and told apart again by their lengths. Pure. */

export const BETWEEN = '\n\n';

/** The texts that were joined with {@link BETWEEN}; null where the lengths are not those of this text. */
export function textsOf(joined: string, lengths: readonly number[]): string[] | null {
  const texts: string[] = [];
  let at = 0;
  for (const length of lengths) {
    if (at > 0 && !joined.startsWith(BETWEEN, at)) return null;
    const from = at === 0 ? 0 : at + BETWEEN.length;
    at = from + length;
    texts.push(joined.slice(from, at));
  }
  return at === joined.length ? texts : null;
}
