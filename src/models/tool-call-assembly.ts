/**
 * Tool calls from the entries of `delta.tool_calls`, in whatever way a server numbers and names them. Pure.
 *
 * An entry belongs to the call that its index, else its id, else its place right after the last one says. It begins a
 * new call where it cannot continue that one: another id together with a name, or something to say after arguments
 * that are whole already. Two calls with equal names and arguments are both meant.
 */
import { wellFormed } from '../conversation/cut-text.js';
import type { JsonObject } from '../conversation/json.js';
import { mergeExtra } from './extra-fields.js';
import { fieldsOf, isObjectText, listOf, textOf } from './json-text.js';
import type { Budget } from './reply-budget.js';

export interface AssembledCall {
  /** '' where the server gave none. */
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  readonly extra?: JsonObject;
}

interface Slot {
  index?: number;
  id: string;
  name: string;
  json: string;
  /** The last piece of `json`: looking at the end of a long joined text each time would make it quadratic. */
  tail: string;
  extra: JsonObject;
  /** The delta that touched it last: in one delta, two entries that say the same are two calls. */
  delta: number;
}

interface Entry {
  readonly index?: number;
  readonly id: string;
  readonly name: string;
  readonly piece: string;
}

const KNOWN: ReadonlySet<string> = new Set(['index', 'id', 'type', 'function']);

export class ToolCallAssembly {
  readonly #slots: Slot[] = [];
  #delta = 0;

  get isEmpty(): boolean {
    return this.#slots.length === 0;
  }

  /** Takes a delta's `tool_calls`, as far as the budget goes. */
  feed(entries: unknown, budget: Budget): void {
    this.#delta += 1;
    for (const value of listOf(entries)) {
      const fields = fieldsOf(value);
      const entry = read(fields);
      const slot = this.#slotFor(entry);
      if (slot === 'repeat') continue;
      slot.id ||= budget.take(entry.id);
      slot.name = joinName(slot.name, entry.name, budget);
      slot.json += budget.take(entry.piece);
      if (entry.piece !== '') slot.tail = entry.piece;
      slot.delta = this.#delta;
      const extra = mergeExtra({}, fields, KNOWN);
      if (Object.keys(extra).length > 0 && budget.fits(extra)) slot.extra = mergeExtra(slot.extra, extra, KNOWN);
    }
  }

  /** The calls so far, in call order: by index where all have one, else in the order in which they began. */
  calls(): AssembledCall[] {
    // Some servers fill gaps with entries that say nothing.
    const slots = this.#slots.filter((slot) => slot.name !== '' || slot.json.trim() !== '');
    if (slots.every((slot) => slot.index !== undefined)) slots.sort((a, b) => (a.index ?? 0) - (b.index ?? 0));
    return slots.map((slot) => ({
      id: wellFormed(slot.id),
      name: wellFormed(slot.name),
      arguments: wellFormed(slot.json),
      ...(Object.keys(slot.extra).length > 0 && { extra: slot.extra }),
    }));
  }

  #slotFor(entry: Entry): Slot | 'repeat' {
    const candidate = this.#candidate(entry);
    if (!candidate) return this.#begin(entry);
    candidate.index ??= entry.index;
    if (this.#isRepeat(candidate, entry)) return 'repeat';
    return this.#begins(candidate, entry) ? this.#begin(entry) : candidate;
  }

  /** The call that the entry points at. */
  #candidate(entry: Entry): Slot | undefined {
    const last = this.#slots.at(-1);
    if (entry.index !== undefined) {
      const numbered = this.#slots.findLast((slot) => slot.index === entry.index);
      if (numbered) return numbered;
      // The index came late, as part of a call that began without.
      const goesOn = last?.index === undefined && (entry.id === '' || entry.id === last?.id) && entry.name === '';
      return goesOn ? last : undefined;
    }
    if (entry.id !== '') {
      const named = this.#slots.findLast((slot) => slot.id === entry.id);
      if (named) return named;
    }
    return last;
  }

  #begins(slot: Slot, entry: Entry): boolean {
    const hasOtherId = entry.id !== '' && slot.id !== '' && entry.id !== slot.id;
    if (entry.name === '') {
      // A fresh id on every delta of one call is a habit of some servers: only whole arguments end it.
      return hasOtherId && entry.index === undefined && (entry.piece === '' || isWhole(slot));
    }
    if (hasOtherId) return true;
    if (slot.name === '') return false;
    if (isWhole(slot) && (entry.piece.trim() !== '' || slot.delta === this.#delta)) return true;
    if (slot.delta === this.#delta) return true;
    // Another name: pieces of one come without arguments, and before them.
    return entry.name !== slot.name && (slot.json !== '' || entry.piece !== '');
  }

  /** A call that is sent once more, whole, after its pieces. */
  #isRepeat(slot: Slot, entry: Entry): boolean {
    if (entry.id === '' || entry.id !== slot.id || entry.name !== slot.name || slot.delta === this.#delta) return false;
    return isObjectText(entry.piece) && entry.piece === slot.json;
  }

  #begin(entry: Entry): Slot {
    const slot: Slot = { index: entry.index, id: '', name: '', json: '', tail: '', extra: {}, delta: this.#delta };
    this.#slots.push(slot);
    return slot;
  }
}

function read(fields: JsonObject): Entry {
  const called = fieldsOf(fields['function']);
  const index = Number(typeof fields['index'] === 'string' && fields['index'] !== '' ? fields['index'] : Number.NaN);
  const json = called['arguments'];
  return {
    ...(typeof fields['index'] === 'number' ? { index: fields['index'] } : Number.isInteger(index) && { index }),
    id: typeof fields['id'] === 'number' ? String(fields['id']) : textOf(fields['id']),
    name: textOf(called['name']),
    // Some servers parse the arguments first.
    piece: typeof json === 'object' && json !== null ? JSON.stringify(json) : textOf(json),
  };
}

/** Names come late, in pieces, or again on every delta; also as a whole that has grown. */
function joinName(old: string, name: string, budget: Budget): string {
  if (name === '' || name === old) return old;
  return name.startsWith(old) ? budget.take(name) : old + budget.take(name);
}

function isWhole(slot: Slot): boolean {
  return slot.tail.trimEnd().endsWith('}') && isObjectText(slot.json);
}
