/** Which run a person's decision belongs to: pure. */
import { expect, test } from 'vitest';
import { isWaiting, waitingCalls } from '../../src/workflows/waiting-calls.js';
import { keyOf, newChild, openCallsBelow, takeReport, type CallBelow } from '../../src/workflows/children.js';
import { findTarget } from '../../src/workflows/decision-target.js';
import type { PendingCall } from '../../src/workflows/decisions.js';

const own = (callId: string): PendingCall => ({
  kind: 'approval',
  callId,
  tool: 'pay',
  args: {},
  since: 1,
  decision: null,
  fate: 'open',
});
const below = (run: string, callId: string, fields: Partial<CallBelow> = {}): CallBelow => ({
  run,
  kind: 'approval',
  callId,
  tool: 'pay',
  args: '{}',
  since: 1,
  ...fields,
});

function decider(pending: readonly PendingCall[], reports: Readonly<Record<string, readonly CallBelow[]>>) {
  const children = new Map(Object.keys(reports).map((runId) => [runId, newChild(runId, {})]));
  for (const [runId, calls] of Object.entries(reports)) {
    takeReport(children, { runId, pending: calls, pendingCount: calls.length });
  }
  return { id: 'parent', state: { pending: [...pending], closedCalls: ['gone'] }, children };
}

test('an id that one run has needs no more', () => {
  const run = decider([own('a')], { child: [below('child', 'b'), below('grandchild', 'c')] });
  expect(findTarget(run, { callId: 'a' }, 'approve')).toMatchObject({ own: { callId: 'a' } });
  expect(findTarget(run, { callId: 'b' }, 'deny')).toMatchObject({ below: { run: 'child' } });
  expect(findTarget(run, { callId: 'c' }, 'approve')).toMatchObject({ below: { run: 'grandchild' } });
  expect(findTarget(run, { callId: 'c', run: 'grandchild' }, 'approve')).toMatchObject({ below: { callId: 'c' } });
  expect(findTarget(run, { callId: 'a', run: 'parent' }, 'approve')).toMatchObject({ own: { callId: 'a' } });
});

test('an id of several runs is refused, unless the run is named', () => {
  const run = decider([own('a')], { one: [below('one', 'a')], two: [below('two', 'a')] });
  const refused = findTarget(run, { callId: 'a' }, 'approve');
  expect(refused).toMatchObject({ refused: expect.stringContaining('parent, one, two') });
  expect(findTarget(run, { callId: 'a', run: 'parent' }, 'approve')).toMatchObject({ own: { callId: 'a' } });
  expect(findTarget(run, { callId: 'a', run: 'two' }, 'approve')).toMatchObject({ below: { run: 'two' } });
  expect(findTarget(run, { callId: 'a', run: 'three' }, 'approve')).toMatchObject({
    refused: expect.stringMatching(/No call a waits in the run three/),
  });
});

test('wrong verbs, unknown and closed ids are refused below as they are here', () => {
  const run = decider([], { one: [below('one', 'q', { kind: 'question' })] });
  expect(findTarget(run, { callId: 'q' }, 'approve')).toMatchObject({ refused: expect.stringMatching(/use "answer"/) });
  expect(findTarget(run, { callId: 'q' }, 'answer')).toMatchObject({ below: { callId: 'q' } });
  expect(findTarget(run, { callId: 'x' }, 'approve')).toMatchObject({ refused: expect.stringMatching(/No call x/) });
  expect(findTarget(run, { callId: 'gone' }, 'approve')).toMatchObject({ refused: expect.stringMatching(/closed/) });
});

test('a decision on its way closes its call, through late reports, but not the next call of that id', () => {
  const first = below('one', 'a');
  const run = decider([], { one: [first] });
  run.children.get('one')?.decided.add(keyOf(first));
  expect(findTarget(run, { callId: 'a' }, 'approve')).toMatchObject({ refused: expect.stringMatching(/decided/) });
  expect(isWaiting(run)).toBe(false);
  takeReport(run.children, { runId: 'one', pending: [first, below('one', 'b')], pendingCount: 2 });
  expect(openCallsBelow(run.children)).toMatchObject([{ callId: 'b' }]);
  expect(waitingCalls(run).count).toBe(1);
  takeReport(run.children, { runId: 'one', pending: [below('one', 'a', { since: 2 })], pendingCount: 1 });
  expect(findTarget(run, { callId: 'a' }, 'approve')).toMatchObject({ below: { since: 2 } });
});

test('the report of a child that is not open changes nothing', () => {
  const run = decider([], {});
  expect(takeReport(run.children, { runId: 'other', pending: [below('other', 'a')], pendingCount: 1 })).toBe(false);
  expect(isWaiting(run)).toBe(false);
});
