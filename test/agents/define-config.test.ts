import { DefinitionError, defineAgent, defineConfig, defineTool } from 'everlap';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

const tool = () => defineTool({ name: 'read', description: 'x', input: z.object({}), execute: () => 'x' });
const agent = (name: string, tools = [tool()]) => defineAgent({ name, instructions: 'x', model: 'm', tools });
const define = (options: unknown): unknown => defineConfig(options as never);

test('fills in the task queue', () => {
  const clerk = agent('clerk');
  expect(defineConfig({ agents: [clerk] })).toEqual({ agents: [clerk], taskQueue: 'everlap' });
  expect(defineConfig({ agents: [clerk], taskQueue: 'own' }).taskQueue).toBe('own');
});

test('agents may share a tool', () => {
  const shared = tool();
  expect(defineConfig({ agents: [agent('a', [shared]), agent('b', [shared])] }).agents).toHaveLength(2);
});

describe('what cannot work is refused', () => {
  test.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /needs agents/],
    ['no agents', {}, /needs agents/],
    ['an empty list', { agents: [] }, /needs agents/],
    ['an agent instead of a list', { agents: agent('a') }, /needs agents/],
    [
      'an agent that is none',
      { agents: [{ name: 'a' }] },
      /agents has something that defineAgent\(\) did not make: \{"name":"a"\}/,
    ],
    ['an agent that is nothing', { agents: [undefined] }, /agents has something/],
    ['two agents of one name', { agents: [agent('a'), agent('a')] }, /two agents of the name a/],
    ['two tools of one name', { agents: [agent('a'), agent('b')] }, /different tools of the name read/],
    ['an empty task queue', { agents: [agent('a')], taskQueue: '' }, /taskQueue/],
    [
      'a price that is none',
      { agents: [agent('a')], prices: { m: { input: '1', output: 2 } } },
      /price of m, input, is "1"/,
    ],
    ['half a price', { agents: [agent('a')], prices: { m: { input: 1 } } }, /price of m, output, is undefined/],
    [
      'a negative price',
      { agents: [agent('a')], prices: { m: { input: 1, output: 1, cachedInput: -1 } } },
      /cachedInput, is -1/,
    ],
    [
      'long rates that lack one',
      { agents: [agent('a')], prices: { m: { input: 1, output: 1, long: { over: 9, input: 2 } } } },
      /price of m, long.output, is undefined/,
    ],
    [
      'long rates of no length',
      { agents: [agent('a')], prices: { m: { input: 1, output: 1, long: { input: 2, output: 2 } } } },
      /long.over, is undefined; it must be a number of input tokens/,
    ],
    ['no price at all', { agents: [agent('a')], prices: { m: null } }, /price of m/],
  ])('%s', (_, options, words) => {
    expect(() => define(options)).toThrow(DefinitionError);
    expect(() => define(options)).toThrow(words);
  });
});
