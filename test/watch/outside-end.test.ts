/** The sentence on a run that was ended from outside. */
import { expect, test } from 'vitest';
import { outsideEnd } from '../../src/watch/outside-end.js';

test.each([
  ['terminated', 'terminated.'],
  ['Enough.', 'Enough.'],
  ['Why?', 'Why?'],
  ['Lunch \n', 'Lunch.'],
])('%j ends in one full stop', (message, words) => {
  expect(outsideEnd(message)).toBe(`The run ended from outside: ${words}`);
});
