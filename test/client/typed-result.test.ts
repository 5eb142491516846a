/** Outputs of results, as what the agent's definition says they are. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { AgentResult } from '../../src/agents/result.js';
import { agentOutput } from '../../src/agents/output-schema.js';
import { typedAnswer, typedResult } from '../../src/client/typed-result.js';

const output = agentOutput('clerk', z.object({ total: z.number() }));
const result = (fields: Partial<AgentResult>): AgentResult => ({
  status: 'completed',
  reason: 'answered',
  output: null,
  turns: 1,
  laps: 1,
  toolCalls: 0,
  usage: { input: 1, output: 1 },
  costUsd: 0,
  unconsumedSteering: [],
  ...fields,
});

test('completed: the value; otherwise the text that there is', async () => {
  expect(await typedResult('r', result({ output: '{"total":3}' }), output)).toMatchObject({ output: { total: 3 } });
  const stopped = result({ status: 'stopped', reason: 'force_finished', output: 'By hand.' });
  expect(await typedResult('r', stopped, output)).toMatchObject({ output: 'By hand.' });
});

test.each([
  [null, /^The run r ended before any answer was given.*client\.handle\('r'\)/],
  ['{"total":"three"}', /^The run r ended with an output that does not fit/],
])('completed with %s: an error that says what to do', async (text, said) => {
  await expect(typedResult('r', result({ output: text }), output)).rejects.toThrow(said);
});

test('an answer of a session: the value where it was answered, otherwise the text that there is', async () => {
  const answered = { position: 1, id: 'm', turn: 2, reason: 'answered', answer: '{"total":3}' } as const;
  expect(await typedAnswer('r', answered, output)).toEqual({ ...answered, answer: { total: 3 } });
  expect(await typedAnswer('r', answered, undefined)).toEqual(answered);
  const cut = { ...answered, reason: 'max_turns', answer: 'So far: 3.' } as const;
  expect(await typedAnswer('r', cut, output)).toEqual(cut);
  await expect(typedAnswer('r', { ...answered, answer: '{}' }, output)).rejects.toThrow(
    /^The run r answered the message m with something that does not fit/,
  );
});
