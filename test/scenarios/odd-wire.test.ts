/** What only runs send to runs, sent by somebody else: it is refused with a sentence, and nothing is lost. */
import { randomUUID } from 'node:crypto';
import { text } from 'everlap/testing';
import { afterEach, expect, test } from 'vitest';
import { heldTool } from '../support/held-tool.js';
import { call } from 'everlap/testing';
import { startRig, type Rig } from '../support/rig.js';

let rig: Rig;
afterEach(() => rig.stop());

const pending = { run: 'r', kind: 'approval', callId: 'c', tool: 't', args: '{}', since: 1 };
test.each([
  ['nothing', []],
  ['null', [null]],
  ['a text', ['report']],
  ['a list', [[]]],
  ['no calls', [{ runId: 'r', pendingCount: 1 }]],
  ['calls that are none', [{ runId: 'r', pendingCount: 1, pending: [null] }]],
  ['half a call', [{ runId: 'r', pendingCount: 1, pending: [{ ...pending, since: 'now' }] }]],
  ['a last word that is none', [{ runId: 'r', pendingCount: 0, pending: [], last: { usage: null } }]],
  ['a report of a run that was not called', [{ runId: 'r', pendingCount: 1, pending: [pending] }]],
])('the signal childReport with %s: the run goes on', async (_, args) => {
  const work = heldTool();
  rig = await startRig({ agent: { tools: [work.tool] }, script: [call('work', { name: 'a' }), text('Done.')] });
  const run = await rig.start();
  await work.gate.reached;
  await run.temporal.signal('childReport', ...args);
  expect(await run.state()).toMatchObject({ pending: [], pendingCount: 0 });
  work.gate.open();
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'Done.' });
});

test.each([
  {},
  'yes',
  { state: null },
  { state: { conversation: { messages: 3, head: {} } } },
  { state: { conversation: { messages: [null], head: {} } } },
  { state: { conversation: { messages: [], head: {} } }, spec: 'new' },
])('a run that is started with carried: %j ends with a sentence', async (carried) => {
  rig = await startRig({ script: [] });
  const handle = await rig.temporal.workflow.start('agentRun', {
    workflowId: `odd-${randomUUID()}`,
    taskQueue: rig.taskQueue,
    args: [{ agent: 'tester', task: 'Do it.', carried }],
  });
  expect(await rig.client.handle(handle.workflowId).result()).toMatchObject({
    status: 'failed',
    reason: 'bad_request',
    error: expect.stringMatching(/carried is written by continue-as-new only/) as string,
  });
});
