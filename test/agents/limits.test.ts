import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DefinitionError } from '../../src/agents/definition-error.js';
import { toMs } from '../../src/agents/duration.js';
import { parseLimits } from '../../src/agents/limits.js';

describe('parseLimits', () => {
  test('reads each, durations in milliseconds', () => {
    expect(parseLimits('Here', { turns: 1, tokens: 2, usd: 0.01, duration: '2 hours', toolCalls: 3 })).toEqual({
      turns: 1,
      tokens: 2,
      usd: 0.01,
      durationMs: 7_200_000,
      toolCalls: 3,
    });
    expect(parseLimits('Here', { duration: 1500 })).toEqual({ durationMs: 1500 });
  });

  test('what is absent or undefined does not limit', () => {
    expect(parseLimits('Here', {})).toEqual({});
    expect(parseLimits('Here', { turns: undefined, usd: undefined })).toEqual({});
  });

  test.each<[string, unknown, RegExp]>([
    ['0 turns', { turns: 0 }, /Here: limits\.turns is 0; .*at least 1/],
    ['half a turn', { turns: 1.5 }, /limits\.turns is 1\.5/],
    ['a text', { tokens: '5' }, /limits\.tokens is "5"/],
    ['null', { toolCalls: null }, /limits\.toolCalls is null/],
    ['a bigint', { turns: 5n }, /limits\.turns is 5n/],
    ['infinity', { turns: Infinity }, /limits\.turns is/],
    ['no money', { usd: 0 }, /limits\.usd is 0; .*above 0/],
    ['endless money', { usd: Infinity }, /limits\.usd is/],
    ['no time', { duration: 0 }, /limits\.duration is 0/],
    ['time in words', { duration: 'soon' }, /limits\.duration is "soon"/],
    ['time that is none', { duration: [] }, /limits\.duration must be/],
    ['more time than a server takes', { duration: 1e300 }, /limits\.duration is 1e\+300; .*100 years/],
    [
      'an unknown name',
      { rounds: 5 },
      /Here: limits has no field "rounds"; its fields are turns, tokens, usd, duration, toolCalls/,
    ],
    ['a list', [1], /limits must be an object/],
    ['a number', 5, /limits must be an object/],
    ['nothing', null, /limits must be an object/],
  ])('%s is refused', (_, value, words) => {
    expect(() => parseLimits('Here', value)).toThrow(DefinitionError);
    expect(() => parseLimits('Here', value)).toThrow(words);
  });

  test('whatever comes: limits, or a DefinitionError', () => {
    const fields = fc.record(
      {
        turns: fc.anything(),
        tokens: fc.anything(),
        usd: fc.anything(),
        duration: fc.anything(),
        toolCalls: fc.anything(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(fields, fc.anything()), (value) => {
        try {
          for (const limit of Object.values(parseLimits('Here', value))) expect(limit).toBeGreaterThan(0);
        } catch (error) {
          expect(error).toBeInstanceOf(DefinitionError);
        }
      }),
    );
  });
});

describe('toMs', () => {
  test.each([
    [1, 1],
    ['1s', 1000],
    ['30 seconds', 30_000],
    ['2 hours', 7_200_000],
    ['1d', 86_400_000],
    ['100 years', 3_155_760_000_000],
  ])('%j', (duration, ms) => {
    expect(toMs('It', duration)).toBe(ms);
  });

  test.each(['', 'soon', '5 parsecs', 0, -1, Number.NaN, Infinity, '-1s', '101 years'])('%j is refused', (duration) => {
    expect(() => toMs('It', duration)).toThrow(/^It is .*; it must be a duration/);
  });
});
