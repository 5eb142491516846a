/** With whom a conversation is, where another agent is named. */
import { expect, test } from 'vitest';
import { otherAgentNote } from '../../src/cli/chat-end.js';

test('the agent that it began with, and the one that it was handed over to, are both right', () => {
  expect(otherAgentNote('x', { named: 'desk', began: 'desk', now: 'desk' })).toBeUndefined();
  for (const named of ['desk', 'expert']) {
    expect(otherAgentNote('x', { named, began: 'desk', now: 'expert' })).toMatch(
      / desk and was handed over: .* expert /,
    );
  }
});

test('any other is refused, and it says what to type', () => {
  expect(() => otherAgentNote('my x', { named: 'clerk', began: 'desk', now: 'expert' })).toThrow(
    /with the agent expert, not with clerk; .* `everlap chat desk --id 'my x'`/,
  );
});
