/** Whatever was thrown, as text that a model can read. Never throws; knows nothing of tools or of Temporal. */
import { cut, headAndTail, wellFormed } from '../conversation/cut-text.js';
import { isBare, isError, ownWords, peek, peekString } from './peek.js';

const MAX_ERROR_CHARS = 2_000;
/** Errors told of one error: itself, its causes, the members of an AggregateError. */
const MAX_ERRORS = 8;

/**
 * What was thrown, for the model: name, message and causes, without stack; at most 2,000 characters. Of a longer
 * text head and tail are kept, since the reason often stands last.
 * @param hide what takes secrets out of a text; it gets texts before they are cut.
 */
export function errorText(error: unknown, hide: (text: string) => string = (text) => text): string {
  let text: string;
  try {
    text = describeError(error, { left: MAX_ERRORS }, hide);
  } catch {
    text = '';
  }
  return wellFormed(headAndTail(text.trim() === '' ? 'An error without a message.' : text, MAX_ERROR_CHARS));
}

/** @param budget how many errors may still be told; shared by the whole tree. */
export function describeError(
  error: unknown,
  budget = { left: MAX_ERRORS },
  hide: (text: string) => string = (text) => text,
): string {
  budget.left -= 1;
  if (typeof error !== 'object' || error === null) {
    return typeof error === 'string' ? hide(error) : `${String(error)} was thrown, which is no error.`;
  }
  const name = peekString(error, 'name');
  const message = peekString(error, 'message');
  if (!isError(error) && message === '') return hide(describeObject(error));
  const told = headAndTail(hide(message) || peekString(error, 'code') || 'no message', MAX_ERROR_CHARS);
  let text = ['', 'Error', 'ToolError'].includes(name) && message !== '' ? told : `${name || 'Error'}: ${told}`;
  const members = peek(error, 'errors');
  if (Array.isArray(members)) {
    for (const member of members.slice(0, MAX_ERRORS)) {
      if (budget.left > 0) text += `; ${describeError(member, budget, hide)}`;
    }
  }
  const cause = peek(error, 'cause');
  if (cause !== undefined && cause !== null && budget.left > 0)
    text += ` (cause: ${describeError(cause, budget, hide)})`;
  return text;
}

/** A thrown object that is no error. Only its outermost values: it may hold the error that it is the cause of. */
function describeObject(value: object): string {
  const shown = Object.keys(value)
    .slice(0, 20)
    .map((key) => [key, peek(value, key)] as const)
    .filter(([, part]) => typeof part === 'string' || isBare(part));
  return shown.length === 0 ? ownWords(value) : shown.map(([key, part]) => `${key}: ${String(part)}`).join(', ');
}

export function unreadable(error: unknown): string {
  return `[unreadable: ${cut(errorText(error), 200)}]`;
}
