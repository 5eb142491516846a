/**
 * An answer of many parts (texts, thoughts, calls, and what only its provider understands) kept as one message: the
 * message has texts, thoughts and calls, joined; its layout says in which order they came, and with what else. Pure.
 *
 * A layout is a list of marks: objects with a `type`. A mark for a text has its `length`; every other field of a mark is
 * the provider's, and goes back as it came.
 */
import type { JsonObject } from '../conversation/json.js';
import { fieldsOf, listOf } from './json-text.js';

/** Stands between two texts that are kept as one. */
export const BETWEEN = '\n\n';

export function joinTexts(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join(BETWEEN);
}

/**
 * The texts for the marks of a type, in their order; null where the lengths are not those of this text: it is another by
 * now (joined of several answers, cut).
 */
export function textsFor(marks: readonly JsonObject[], type: string, joined: string): string[] | null {
  const texts: string[] = [];
  let at = 0;
  for (const mark of marks.filter((other) => other['type'] === type)) {
    const length = Number(mark['length'] ?? Number.NaN);
    if (length === 0) {
      texts.push('');
      continue;
    }
    if (at > 0 && !joined.startsWith(BETWEEN, at)) return null;
    const from = at === 0 ? 0 : at + BETWEEN.length;
    at = from + length;
    texts.push(joined.slice(from, at));
  }
  return at === joined.length ? texts : null;
}

/** As {@link textsFor}; where the text is another by now, all of it is in the last place for one. */
export function textsOrWhole(marks: readonly JsonObject[], type: string, joined: string): string[] {
  const texts = textsFor(marks, type, joined);
  if (texts) return texts;
  const places = marks.filter((mark) => mark['type'] === type).length;
  return Array.from({ length: places }, (_, at) => (at === places - 1 ? joined : ''));
}

export interface MarkTypes {
  readonly text: string;
  readonly call: string;
}

/** The marks that were kept, and a mark for whatever else the message has: a text before the calls, calls at the end. */
export function layoutOf(kept: unknown, types: MarkTypes, text: string, calls: number): JsonObject[] {
  const layout = listOf(kept).map(fieldsOf);
  const first = layout.findIndex(({ type }) => type === types.call);
  const places = layout.filter(({ type }) => type === types.call).length;
  if (text.trim() !== '' && !layout.some(({ type }) => type === types.text)) {
    layout.splice(first < 0 ? layout.length : first, 0, { type: types.text, length: text.length });
  }
  for (let more = places; more < calls; more += 1) layout.push({ type: types.call });
  return layout;
}

/** True for a layout that {@link layoutOf} would make of nothing: one text, then calls, without anything else. */
export function isPlainLayout(layout: readonly JsonObject[], types: MarkTypes): boolean {
  return layout.every((mark, at) => {
    const fields = Object.keys(mark).length;
    return mark['type'] === types.text ? at === 0 && fields === 2 : mark['type'] === types.call && fields === 1;
  });
}
