import { describe, expect, test } from 'vitest';
import { keepsPromise } from '../../src/conversation/promise.js';

const PROMISE = 'DONE';

describe('a promise is kept', () => {
  test.each([
    'DONE',
    'All good.\n\nDONE',
    'DONE\n\n \n',
    'x\r\nDONE\r\n',
    '  DONE',
    '```\ncode\n```\nDONE',
    '~~~\n```\n~~~\nDONE',
  ])('%j', (answer) => {
    expect(keepsPromise(answer, PROMISE)).toBe(true);
  });
});

describe('a promise is not kept', () => {
  test.each([
    '',
    'DONE.',
    'done',
    '> DONE',
    '`DONE`',
    '**DONE**',
    'I say DONE',
    'DONE\nbut not quite',
    '    DONE',
    '\tDONE',
    '```\nDONE',
    '```\nDONE\n```',
    '~~~\nDONE',
    '````\n```\nDONE',
    '```js\nx\n``` not the end\nDONE',
  ])('%j', (answer) => {
    expect(keepsPromise(answer, PROMISE)).toBe(false);
  });
});
