/** Whatever was thrown, as text that a model can read. Never throws; knows nothing of tools or of Temporal. */
import { cut, headAndTail, wellFormed } from '../conversation/cut-text.js';
import { isBare, isError, ownWords, peek, peekString } from './peek.js';

const MAX_ERROR_CHARS = 2_000;
/** Errors told of one error: itself, its causes, the members of an AggregateError. */
const MAX_ERRORS = 8;

/**
 * What was thrown, for the model: name, message and causes, without stack; at most 2,000 characters. Of a longer
 * text head and tail are kept, since the reason often stands last.
 */
export function errorText(error: unknown): string {
  let text: string;
  try {
    text = describeError(error);
  } catch {
    text = '';
  }
  return wellFormed(headAndTail(text.trim() === '' ? 'An error without a message.' : text, MAX_ERROR_CHARS));
}

/** @param budget how many errors may still be told; shared by the whole tree. */
export function describeError(error: unknown, budget = { left: MAX_ERRORS }): string {
  budget.left -= 1;
  if (typeof error !== 'object' || error === null) {
    return typeof error === 'string' ? error : `${String(error)} was thrown, which is no error.`;
  }
  const name = peekString(error, 'name');
  const message = peekString(error, 'message');
  if (!isError(error) && message === '') return describeObject(error);
  const told = headAndTail(message || peekString(error, 'code') || 'no message', MAX_ERROR_CHARS);
  let text = ['', 'Error', 'ToolError'].includes(name) && message !== '' ? told : `${name || 'Error'}: ${told}`;
  const members = peek(error, 'errors');
  if (Array.isArray(members)) {
    for (const member of members.slice(0, MAX_ERRORS)) {
      if (budget.left > 0) text += `; ${describeError(member, budget)}`;
    }
  }
  const cause = peek(error, 'cause');
  if (cause !== undefined && cause !== null && budget.left > 0) text += ` (cause: ${describeError(cause, budget)})`;
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
