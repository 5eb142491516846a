import { expect, test } from 'vitest';
import { specOf } from '../../src/activities/agent-spec.js';
import { defineAgent } from '../../src/agents/define-agent.js';

test("the spec has the rates of long requests: the list's, and one's own before them", () => {
  const agent = defineAgent({ name: 'a', instructions: 'Work.', model: 'gpt-6.2-sol', fallbackModels: ['mine'] });
  const mine = { input: 1, output: 2, cachedInput: 0.5, long: { over: 100, input: 3, output: 4, cachedInput: 1 } };
  const surroundings = { prices: { mine }, searchAttributes: false, storesLargePayloads: false };
  expect(specOf(agent, agent.options, surroundings).prices).toEqual({
    'gpt-6.2-sol': {
      input: 2,
      cachedInput: 0.1,
      output: 10,
      long: { over: 272_000, input: 4, cachedInput: 0.2, output: 15 },
    },
    mine,
  });
});
