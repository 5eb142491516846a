import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isRefused, parseForceFinish, parseNothing, parsePage, parseText } from '../../src/workflows/arguments.js';

const refused = (words: RegExp) => ({ refused: expect.stringMatching(words) as string });

describe('parseText', () => {
  test.each([
    ['words', 'Hi.', { text: 'Hi.' }],
    ['an object', { text: 'Hi.' }, { text: 'Hi.' }],
    ['an object with an id', { text: 'Hi.', id: 'x' }, { text: 'Hi.', id: 'x' }],
    ['null as an id', { text: 'Hi.', id: null }, { text: 'Hi.' }],
    ['whatever else stands beside', { text: 'Hi.', refused: 'no', more: 1 }, { text: 'Hi.' }],
    ['half a character', 'a\ud83d', { text: 'a\ufffd' }],
    ['white space around words', '  a ', { text: '  a ' }],
  ])('%s', (_, argument, parsed) => {
    expect(parseText(argument)).toEqual(parsed);
  });

  test.each([
    ['nothing', undefined, /Give a text/],
    ['null', null, /Give a text/],
    ['a number', 5, /Give a text/],
    ['a list', ['a'], /Give a text/],
    ['an object without text', { words: 'a' }, /Give a text/],
    ['a text that is none', { text: 5 }, /Give a text/],
    ['an empty text', '', /empty/],
    ['white space', { text: ' \n\t' }, /empty/],
    ['an empty id', { text: 'a', id: '' }, /id must be/],
    ['an id that is no text', { text: 'a', id: 5 }, /id must be/],
    ['a long id', { text: 'a', id: 'i'.repeat(201) }, /id must be/],
    ['a long text', 'a'.repeat(200_001), /200001 characters; 200000 is the most/],
    ['a text of escapes', '\u0001'.repeat(200_000), /bytes as JSON/],
  ])('%s is refused', (_, argument, words) => {
    expect(parseText(argument)).toEqual(refused(words));
  });

  test('the longest text of any script passes', () => {
    for (const unit of ['a', 'é', '漢', '👍']) {
      expect(isRefused(parseText(unit.repeat(200_000 / unit.length)))).toBe(false);
    }
  });
});

describe('parseForceFinish', () => {
  test.each([
    [undefined, {}],
    [null, {}],
    [{}, {}],
    [{ reason: 'enough' }, { reason: 'enough' }],
    [{ output: 'By hand.', reason: null }, { output: 'By hand.' }],
  ])('%j', (argument, parsed) => {
    expect(parseForceFinish(argument)).toEqual(parsed);
  });

  test.each([
    ['now', /Give nothing/],
    [5, /Give nothing/],
    [[], /Give nothing/],
    [{ output: 5 }, /output: it is no text/],
    [{ output: '' }, /output: The text is empty/],
    [{ because: 'x' }, /no field "because"/],
  ])('%j is refused', (argument, words) => {
    expect(parseForceFinish(argument)).toEqual(refused(words));
  });
});

describe('parsePage', () => {
  test.each([
    [undefined, { from: 0, limit: Infinity, spec: false }],
    [null, { from: 0, limit: Infinity, spec: false }],
    [{}, { from: 0, limit: Infinity, spec: false }],
    [
      { from: 3, limit: 2, spec: true },
      { from: 3, limit: 2, spec: true },
    ],
    [
      { from: null, limit: null, spec: 'yes' },
      { from: 0, limit: Infinity, spec: false },
    ],
  ])('%j', (argument, parsed) => {
    expect(parsePage(argument)).toEqual(parsed);
  });

  test.each([5, 'x', { from: -1 }, { from: 1.5 }, { from: '1' }, { limit: -1 }, { limit: Number.NaN }])(
    '%j is refused',
    (argument) => {
      expect(isRefused(parsePage(argument))).toBe(true);
    },
  );
});

test('whatever is sent, each parser answers with a value or a sentence, and throws nothing', () => {
  fc.assert(
    fc.property(fc.anything(), (argument) => {
      for (const parse of [parseText, parseForceFinish, parsePage]) {
        const parsed = parse(argument);
        if (isRefused(parsed)) expect(parsed.refused).toMatch(/\.$/);
      }
      expect(parseNothing()).toEqual({});
    }),
  );
});
