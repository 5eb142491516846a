/** Agents that were called, and executions: a caller that is due for a new one, children that go on in new ones. */
import { agentTool, defineTool, type AgentOptions } from 'everlap';
import type { RunHandle } from 'everlap/client';
import { call, calls, text, type RecordedRequest, type Script, type Step } from 'everlap/testing';
import { everlapBundle } from 'everlap/worker';
import { Worker } from '@temporalio/worker';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { startDevServer, type DevServer } from '../../src/dev/dev-server.js';
import { agent } from '../support/agent.js';
import { validMessages } from '../support/conversation.js';
import { heldTool } from '../support/held-tool.js';
import { eventsOf, executionsOf } from '../support/history.js';
import { eventually, startRig, type Rig } from '../support/rig.js';

let server: DevServer;
let rig: Rig;
beforeAll(async () => {
  // A turn has some 12 events: a new execution every turn or two.
  server = await startDevServer({ dynamicConfig: ['limit.historyCount.suggestContinueAsNew=15'] });
});
afterEach(() => rig.stop());
afterAll(() => server.stop());

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.object({ n: z.number() }),
  effects: 'none',
  execute: ({ n }) => `seen ${n}`,
});
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({ n: z.number() }),
  approval: 'always',
  execute: ({ n }) => `paid ${n}`,
});

const turnOf = ({ messages }: RecordedRequest): number =>
  messages.filter(({ role }) => role === 'assistant').length + 1;
const byTurn =
  (...steps: readonly Step[]): Script =>
  (request) =>
    steps[turnOf(request) - 1] ?? text('Done.');
const tasks = (...names: readonly string[]): Step =>
  calls(names.map((task) => ({ name: 'clerk', arguments: { task }, id: `call_${task}` })));

async function start(byTask: Readonly<Record<string, Script>>, clerk: Partial<AgentOptions>): Promise<RunHandle> {
  const clerks = agentTool(agent('clerk', clerk), { description: 'Does one task.' });
  rig = await startRig({ address: server.address, agents: [agent('chief', { tools: [clerks, look] })], byTask });
  return rig.start();
}

async function childrenOf({ id }: RunHandle): Promise<string[]> {
  const ids: string[] = [];
  for (const execution of await executionsOf(rig.temporal, id)) {
    for (const event of await eventsOf(rig.temporal, id, execution)) {
      ids.push(...[event.startChildWorkflowExecutionInitiatedEventAttributes?.workflowId ?? []].flat());
    }
  }
  return ids;
}

async function replays(...ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    for (const execution of await executionsOf(rig.temporal, id)) {
      const history = await rig.temporal.workflow.getHandle(id, execution).fetchHistory();
      await Worker.runReplayHistory({ workflowBundle: everlapBundle() }, history, id);
    }
  }
}

test('a caller that is due for a new execution waits for its children, which go on in new ones; none is lost, each counts once', async () => {
  const usage = { prompt_tokens: 100, completion_tokens: 10 };
  const counted = (step: Step): Step => ({ ...step, usage }) as Step;
  const looks = byTurn(...[1, 2, 3, 4, 5].map((n) => counted(call('look', { n }))), counted(text('Looked.')));
  const run = await start(
    {
      'Do it.': byTurn(
        counted(call('look', { n: 1 })),
        counted(call('look', { n: 2 })),
        counted(tasks('A.', 'B.')),
        counted(tasks('C.')),
        counted(text('All done.')),
      ),
      'A.': looks,
      'B.': byTurn(
        counted(call('pay', { n: 1 }, { id: 'gated' })),
        ...[2, 3].map((n) => counted(call('look', { n }))),
        counted(text('Paid.')),
      ),
      'C.': looks,
    },
    { tools: [look, pay] },
  );
  await eventually(async () => (await run.state()).pending.length === 1, 'the approval');
  const execution = (await executionsOf(rig.temporal, run.id)).at(-1);
  const [first = ''] = await childrenOf(run);
  expect((await rig.client.handle(first).result()).status).toBe('completed');
  expect((await executionsOf(rig.temporal, first)).length).toBeGreaterThan(1);
  // The caller has more than enough events; its children are open.
  for (let i = 0; i < 20; i += 1) await run.temporal.signal('steer', `Meanwhile ${i}.`);
  expect((await executionsOf(rig.temporal, run.id)).at(-1)).toBe(execution);
  await run.approve('gated');
  // Their requests: 5 of the caller, 6 of A, 4 of B, 6 of C.
  expect(await run.result()).toMatchObject({
    status: 'completed',
    output: 'All done.',
    usage: { input: 2100, output: 210 },
  });
  expect((await executionsOf(rig.temporal, run.id)).length).toBeGreaterThan(1);
  const children = await childrenOf(run);
  expect(children).toHaveLength(3);
  const results = (await validMessages(run)).flatMap((message) => (message.role === 'tool' ? [message.text] : []));
  expect(results).toEqual(['seen 1', 'seen 2', 'Looked.', 'Paid.', 'Looked.']);
  await replays(run.id, ...children);
}, 120_000);

test('what waits in children that are decided in a hurry and go on in new executions is not said to wait any more', async () => {
  const work = heldTool();
  const names = Array.from({ length: 8 }, (_, n) => `Task ${n}.`);
  const script = byTurn(
    calls([1, 2].map((n) => ({ name: 'pay', arguments: { n }, id: `pay_${n}` }))),
    call('work', { name: 'a' }),
    text('Done.'),
  );
  const run = await start(
    {
      'Do it.': byTurn(tasks(...names), text('All done.')),
      ...Object.fromEntries(names.map((name) => [name, script])),
    },
    { tools: [pay, work.tool] },
  );
  const children = await eventually(async () => {
    const ids = await childrenOf(run);
    return ids.length === names.length && ids;
  }, 'the children');
  await Promise.all(
    children.map(async (id) => {
      const child = rig.client.handle(id);
      await eventually(async () => (await child.state()).pending.length === 2, 'two approvals');
      await Promise.all([child.temporal.signal('deny', 'pay_1'), child.temporal.signal('deny', 'pay_2')]);
    }),
  );
  await eventually(async () => work.ran.length === names.length, 'the next turn of all');
  const executions = await Promise.all(children.map(async (id) => (await executionsOf(rig.temporal, id)).length));
  expect(Math.min(...executions)).toBeGreaterThan(1);
  await eventually(async () => (await run.state()).pendingCount === 0, 'nothing that waits');
  expect(await run.state()).toMatchObject({ status: 'running', pending: [] });
  work.gate.open();
  expect(await run.result()).toMatchObject({ status: 'completed' });
  await replays(run.id, ...children);
}, 120_000);
