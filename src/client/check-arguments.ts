/** What can be refused before anything is sent: a start would go through all the same, and leave a run that nobody wanted. */
import { isRefused, parseText } from '../workflows/arguments.js';
import type { QueuedText } from '../workflows/run-state.js';
import { RunArgumentError } from './errors.js';

/** @throws RunArgumentError in the words of the run itself. */
export function checkText(name: 'steer' | 'followUp', argument: unknown): QueuedText {
  const parsed = parseText(argument);
  if (isRefused(parsed)) throw new RunArgumentError(`${name} was refused: ${parsed.refused}`);
  return parsed;
}

/** @throws RunArgumentError */
export function checkId(id: string): string {
  if (id !== '') return id;
  throw new RunArgumentError(
    "The run's id is empty. Give 1 to 1,000 characters; to start a run under an id that is made up, leave it out.",
  );
}
