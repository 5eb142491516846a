/** Agents as tools of agents: child runs, their budgets, what waits in them, and that ends reach all levels. */
import { agentTool, defineTool, type AgentDefinition, type AgentOptions } from 'everlap';
import { call, calls, httpError, text, type Script } from 'everlap/testing';
import type { AgentEvent, RunHandle } from 'everlap/client';
import { fileURLToPath } from 'node:url';
import { everlapBundle } from 'everlap/worker';
import { Worker } from '@temporalio/worker';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { agent } from '../support/agent.js';
import { heldTool, type HeldTool } from '../support/held-tool.js';
import { eventsOf } from '../support/history.js';
import { eventually, startRig, type Rig } from '../support/rig.js';

let rig: Rig;
afterEach(() => rig.stop());

const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({ usd: z.number() }),
  approval: 'always',
  execute: ({ usd }) => `paid ${usd}`,
});

/** A chief that can call clerks, which have these options. */
function team(clerk: Partial<AgentOptions> = {}, chief: Partial<AgentOptions> = {}): AgentDefinition {
  const tool = agentTool(agent('clerk', clerk), { description: 'Does one task.' });
  return agent('chief', { ...chief, tools: [tool, ...(chief.tools ?? [])] });
}

const tasks = (...names: readonly string[]) =>
  calls(names.map((task) => ({ name: 'clerk', arguments: { task }, id: `call_${task}` })));

/** What the chief's model was told in its n-th request. */
function resultsOf(task: string, request = 1): unknown[] {
  const asked = rig.model.requests.filter((one) => one.task === task)[request];
  return (asked?.messages ?? []).flatMap((message) => (message.role === 'tool' ? [message.content] : []));
}

async function childrenOf({ id }: RunHandle): Promise<string[]> {
  const events = await eventsOf(rig.temporal, id);
  return events.flatMap(
    (event) => event.startChildWorkflowExecutionInitiatedEventAttributes?.workflowId?.toString() ?? [],
  );
}

function waiting(run: RunHandle, count = 1) {
  return eventually(async () => {
    const state = await run.state();
    return state.pending.length === count && state;
  }, `${count} pending calls`);
}

async function replay(...ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const history = await rig.temporal.workflow.getHandle(id).fetchHistory();
    await Worker.runReplayHistory({ workflowBundle: everlapBundle() }, history, id);
  }
}

test('an agent as a tool: its answer is the result, its usage is added, its id comes from the call', async () => {
  const usage = { prompt_tokens: 100, completion_tokens: 10 };
  rig = await startRig({
    agents: [team()],
    byTask: {
      'Do it.': [tasks('Count.'), text('Done.')].map((step) => ({ ...step, usage })),
      'Count.': [text('Seven.', { usage })],
    },
  });
  const run = await rig.start();
  expect(await run.result()).toMatchObject({
    status: 'completed',
    output: 'Done.',
    turns: 2,
    toolCalls: 1,
    usage: { input: 300, output: 30 },
  });
  expect(resultsOf('Do it.')).toEqual(['Seven.']);
  const [child = ''] = await childrenOf(run);
  expect(child).toMatch(new RegExp(`^${run.id}/1/1/0/[0-9a-f]{16}$`));
  const { costUsd } = await rig.client.handle(child).result();
  expect((await run.result()).costUsd).toBeCloseTo((costUsd ?? 0) * 3, 10);
  const seen: AgentEvent[] = [];
  for await (const event of run.events()) seen.push(event);
  expect(seen.filter(({ type }) => type.startsWith('tool_'))).toMatchObject([
    { type: 'tool_started', name: 'clerk', args: { task: 'Count.' }, runId: child },
    { type: 'tool_finished', name: 'clerk', text: 'Seven.' },
  ]);
  await replay(run.id, child);
});

test('three in parallel with one budget: one fails, one is exhausted, one waits for a decision made at the parent', async () => {
  const usage = { prompt_tokens: 1000, completion_tokens: 100 };
  const greedy = { prompt_tokens: 20_000, completion_tokens: 100 };
  rig = await startRig({
    agents: [team({ tools: [pay] }, { limits: { tokens: 80_000 } })],
    byTask: {
      'Do it.': [tasks('Fail.', 'Waste.', 'Pay.'), text('Reported.')].map((step) => ({ ...step, usage })),
      'Fail.': [httpError(401)],
      'Waste.': [call('pay', '{', { usage: greedy, text: 'So far so good.' })],
      'Pay.': [call('pay', { usd: 5 }, { id: 'gated', usage }), text('Paid.', { usage })],
    },
  });
  const run = await rig.start();
  const state = await waiting(run);
  const [, , payer = ''] = await childrenOf(run);
  expect(state).toMatchObject({ status: 'waiting', pending: [{ callId: 'gated', tool: 'pay', run: payer }] });
  const limits = await Promise.all(
    (await childrenOf(run)).map(async (id) => (await rig.client.handle(id).state()).limits['tokens']?.limit),
  );
  // 78,900 are left, for three children and the parent.
  expect(limits).toEqual([19_725, 19_725, 19_725]);
  expect(await run.approve('gated')).toEqual({ callId: 'gated', state: 'passed_on', run: payer });
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'Reported.' });
  expect(resultsOf('Do it.')).toEqual([
    expect.stringMatching(/^The agent clerk failed \(auth\)/),
    expect.stringMatching(
      /^The agent clerk reached a limit .*\(max_tokens\)\.\nWhat it had by then:\nSo far so good\./,
    ),
    'Paid.',
  ]);
  expect((await run.result()).usage).toMatchObject({ input: 1000 + 20_000 + 1000 + 1000 + 1000 });
  await replay(run.id, ...(await childrenOf(run)));
});

test('one id that waits in two children is refused until the run is named; either door decides', async () => {
  const asks: Script = [call('pay', { usd: 5 }, { id: 'same' }), text('Decided.')];
  rig = await startRig({
    agents: [team({ tools: [pay] })],
    byTask: { 'Do it.': [tasks('One.', 'Two.'), text('Done.')], 'One.': asks, 'Two.': asks },
  });
  const run = await rig.start();
  await waiting(run, 2);
  const [one = '', two = ''] = await childrenOf(run);
  await expect(run.approve('same')).rejects.toThrow(/waits in several runs/);
  await run.deny({ callId: 'same', run: two, reason: 'Not this one.' });
  await waiting(run, 1);
  await rig.client.handle(one).approve('same');
  await run.result();
  expect(resultsOf('One.')).toEqual(['paid 5']);
  expect(resultsOf('Two.')).toEqual([expect.stringMatching(/Denied.*Not this one/)]);
});

test('two levels: what waits at the bottom shows at the top and is decided there', async () => {
  const clerk = agentTool(agent('clerk', { tools: [pay] }), { description: 'Pays.' });
  const lead = agentTool(agent('lead', { tools: [clerk] }), { description: 'Leads.' });
  rig = await startRig({
    agents: [agent('chief', { tools: [lead] })],
    byTask: {
      'Do it.': [call('lead', { task: 'Lead.' }), text('All done.')],
      'Lead.': [tasks('Pay.'), text('Led.')],
      'Pay.': [call('pay', { usd: 5 }, { id: 'gated' }), text('Paid.')],
    },
  });
  const run = await rig.start();
  await waiting(run);
  const [middle = ''] = await childrenOf(run);
  const [bottom = ''] = await childrenOf(rig.client.handle(middle));
  expect((await rig.client.handle(middle).state()).pending).toMatchObject([{ callId: 'gated', run: bottom }]);
  await run.approve({ callId: 'gated', args: { usd: 3 } });
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'All done.' });
  expect(resultsOf('Pay.')).toEqual(['paid 3']);
  await replay(run.id, middle, bottom);
});

/** Three children, each in the middle of a tool. */
async function threeAtWork(chief: Partial<AgentOptions> = {}): Promise<{ run: RunHandle; work: HeldTool }> {
  const work = heldTool();
  const at = (name: string): Script => [call('work', { name }, { text: `${name} began.` }), text('Never.')];
  rig = await startRig({
    agents: [team({ tools: [work.tool] }, chief)],
    byTask: { 'Do it.': [tasks('A.', 'B.', 'C.')], 'A.': at('a'), 'B.': at('b'), 'C.': at('c') },
  });
  const run = await rig.start();
  await eventually(async () => work.ran.length === 3, 'three tools at work');
  return { run, work };
}

test.each(['cancel', 'deadline'] as const)(
  '%s with three children reaches all, and counts what they used',
  async (how) => {
    const { run, work } = await threeAtWork();
    if (how === 'cancel') await run.cancel();
    else await run.setLimits({ duration: 1 });
    const result = await run.result();
    expect(result).toMatchObject(
      how === 'cancel' ? { status: 'cancelled' } : { status: 'exhausted', reason: 'deadline' },
    );
    await eventually(async () => work.aborted.length === 3, 'three tools told to stop');
    const children = await childrenOf(run);
    const ends = await Promise.all(children.map((id) => rig.client.handle(id).result()));
    expect(ends.map(({ status }) => status)).toEqual(['cancelled', 'cancelled', 'cancelled']);
    const own = rig.model.requests.filter(({ task }) => task === 'Do it.').length;
    expect(own).toBe(1);
    expect(result.usage.input).toBeGreaterThan(ends.reduce((sum, { usage }) => sum + usage.input, 0));
    expect(result.costUsd).not.toBeNull();
    const open = (await run.messages()).filter(({ role }) => role === 'tool');
    expect(open).toHaveLength(3);
    await replay(run.id, ...children);
  },
);

test('force-finish reaches children that wait for a person', async () => {
  rig = await startRig({
    agents: [team({ tools: [pay] })],
    byTask: { 'Do it.': [tasks('Pay.')], 'Pay.': [call('pay', { usd: 5 }, { text: 'I would pay.' })] },
  });
  const run = await rig.start();
  await waiting(run);
  await run.forceFinish();
  expect(await run.result()).toMatchObject({ status: 'stopped', reason: 'force_finished' });
  const [child = ''] = await childrenOf(run);
  expect(await rig.client.handle(child).result()).toMatchObject({ status: 'stopped', output: 'I would pay.' });
});

test('a child that somebody cancels or terminates is a result like any other', async () => {
  const work = heldTool();
  const at = (name: string): Script => [call('work', { name })];
  rig = await startRig({
    agents: [team({ tools: [work.tool] })],
    byTask: { 'Do it.': [tasks('A.', 'B.'), text('Went on.')], 'A.': at('a'), 'B.': at('b') },
  });
  const run = await rig.start();
  await eventually(async () => work.ran.length === 2);
  const [one = '', two = ''] = await childrenOf(run);
  await rig.client.handle(one).cancel();
  await rig.temporal.workflow.getHandle(two).terminate();
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'Went on.', costUsd: null });
  expect(resultsOf('Do it.')).toEqual([
    expect.stringMatching(/was cancelled/),
    expect.stringMatching(/was ended from outside/),
  ]);
});

test('an agent that calls itself: the depth is limited, and said', async () => {
  const self: AgentDefinition = agent('self', {
    tools: [agentTool((): AgentDefinition => self, { name: 'again', description: 'Yourself.', maxDepth: 2 })],
  });
  const deeper = (task: string): Script => [call('again', { task }), text('Up again.')];
  rig = await startRig({
    agents: [self],
    byTask: { 'Do it.': deeper('Two.'), 'Two.': deeper('Three.'), 'Three.': deeper('Four.') },
  });
  const run = await rig.start();
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'Up again.' });
  expect(resultsOf('Three.')).toEqual([expect.stringMatching(/2 levels deep/)]);
  expect(resultsOf('Do it.')).toEqual(['Up again.']);
});

test('without a task, and without budget, no child is started', async () => {
  const usage = { prompt_tokens: 998, completion_tokens: 1 };
  rig = await startRig({
    agents: [team({}, { limits: { tokens: 1000 } })],
    script: [
      calls(
        [
          { name: 'clerk', arguments: { task: ' ' } },
          { name: 'clerk', arguments: { task: 'Go.' } },
        ],
        { usage },
      ),
    ],
  });
  const run = await rig.start();
  expect(await run.result()).toMatchObject({ status: 'exhausted', reason: 'max_tokens' });
  const results = (await run.messages()).filter((message) => message.role === 'tool');
  expect(results).toMatchObject([
    { text: expect.stringMatching(/give the task/) },
    { text: expect.stringMatching(/max_tokens/) },
  ]);
  expect(await childrenOf(run)).toEqual([]);
});

test('in plan mode children plan too', async () => {
  rig = await startRig({
    agents: [team({ tools: [pay] }, { mode: 'plan' })],
    byTask: { 'Do it.': [tasks('Pay.'), text('Planned.')], 'Pay.': [call('pay', { usd: 5 }), text('I would pay.')] },
  });
  expect(await (await rig.start()).result()).toMatchObject({ status: 'completed' });
  expect(resultsOf('Pay.')).toEqual([expect.stringMatching(/plan mode/)]);
});

test('a limit in dollars that an unpriced child has made unkeepable is left out, and that is said', async () => {
  const work = heldTool();
  rig = await startRig({
    agents: [team({ model: 'unheard-of', tools: [work.tool] })],
    byTask: {
      'Do it.': [tasks('Work.'), text('Done.')],
      'Work.': [call('work', { name: 'a' }), text('Worked.')],
    },
  });
  const run = await rig.start();
  await work.gate.reached;
  expect(await run.setLimits({ usd: 5 })).toMatchObject({ usd: { limit: 5 } });
  work.gate.open();
  expect(await run.result()).toMatchObject({ status: 'completed', costUsd: null });
  const { limits, lastError } = await run.state();
  expect(limits).not.toHaveProperty('usd');
  expect(lastError).toMatch(/A limit was left out: usd cannot be kept/);
});

test('a child that cannot end holds up a cancelled run for so long only', async () => {
  rig = await startRig({
    agents: [team()],
    byTask: { 'Do it.': [tasks('Never.')] },
    worker: { worker: { workflowsPath: fileURLToPath(new URL('./fixtures/stubborn-children.ts', import.meta.url)) } },
  });
  const run = await rig.start();
  const [child = ''] = await eventually(async () => {
    const ids = await childrenOf(run);
    return ids.length > 0 && ids;
  });
  await run.cancel();
  expect(await run.result()).toMatchObject({ status: 'cancelled' });
  const { status } = await rig.temporal.workflow.getHandle(child).describe();
  expect(status.name).toBe('RUNNING');
  expect((await run.state()).lastError).toMatch(/has not ended within 30 seconds/);
  await rig.temporal.workflow.getHandle(child).terminate();
}, 120_000);

test('a cancel waits for the children that are open, and for no other', async () => {
  const work = heldTool();
  rig = await startRig({
    agents: [team({ tools: [work.tool] })],
    byTask: { 'Do it.': [tasks('Quick.', 'Long.')], 'Quick.': [text('Done.')], 'Long.': [call('work', { name: 'a' })] },
  });
  const run = await rig.start();
  await work.gate.reached;
  await eventually(async () => {
    const events = await eventsOf(rig.temporal, run.id);
    return events.some((event) => event.childWorkflowExecutionCompletedEventAttributes);
  }, 'the quick one');
  await run.cancel();
  expect(await run.result()).toMatchObject({ status: 'cancelled' });
  const events = await eventsOf(rig.temporal, run.id);
  expect(events.filter((event) => event.timerStartedEventAttributes)).toHaveLength(1);
});
