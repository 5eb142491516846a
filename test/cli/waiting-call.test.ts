/** Calls that wait for a person, as `pending` and `state` show them. */
import type { PendingView } from 'everlap/client';
import { expect, test } from 'vitest';
import { callText, notShown, waitingRows } from '../../src/cli/waiting-call.js';
import { waitingView } from './run-view.js';

type Views = Parameters<typeof waitingRows>[0];

const call = (callId: string, run?: string): PendingView => ({
  kind: 'approval',
  callId,
  tool: 'pay',
  args: '{"usd":5}',
  since: 1,
  ...(run !== undefined && { run }),
});

const views = (pending: Readonly<Record<string, readonly PendingView[]>>): Views =>
  new Map(Object.entries(pending).map(([id, calls]) => [id, waitingView(calls)]));

const shown = (given: Views): string[] => waitingRows(given).map(({ id, callId, run }) => `${id} ${callId} ${run}`);

test('a call of a run below is shown at that run alone, where that is listed itself', () => {
  const rows = shown(views({ top: [call('own'), call('x', 'child')], child: [call('x')], other: [call('x')] }));
  expect(rows).toEqual(['top own undefined', 'child x undefined', 'other x undefined']);
});

test('where it is not, it is shown once, with its run', () => {
  const rows = shown(views({ top: [call('x', 'leaf'), call('x', 'leaf 2')], middle: [call('x', 'leaf')] }));
  expect(rows).toEqual(['top x leaf', 'top x leaf 2']);
});

test('what has to be typed is whole, and stands before the arguments, which are cut', () => {
  const id = 'i'.repeat(200);
  const text = callText({ ...call(id, 'the/child'), args: JSON.stringify({ text: 'long '.repeat(90) }) }, 200);
  expect(text).toMatch(new RegExp(`^${id}  --run the/child  approval: pay \\{"text":"long .*…$`));
  expect(callText({ ...call('c'), args: '{"usd":' })).toBe('c  approval: pay {"usd":…');
  expect(callText(call('a\nb'))).toBe('a b  approval: pay {"usd":5}');
});

test('how many are left out', () => {
  expect(notShown(waitingView([call('a')], 3))).toBe(2);
  expect(notShown(waitingView([call('a')]))).toBe(0);
});
