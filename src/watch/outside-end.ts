/** The `error` of a run that was ended from outside and left no result. Pure. */

/** @param message Temporal's or a person's words, with a full stop of their own or without. */
export function outsideEnd(message: string): string {
  const words = message.trim();
  return `The run ended from outside: ${words}${/[.!?…]$/.test(words) ? '' : '.'}`;
}
