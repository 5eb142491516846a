/** Permission modes: what may run without asking, what not at all, and what a change does to calls under way. */
import {
  agentTool,
  defineTool,
  handoffTo,
  type AgentDefinition,
  type AgentOptions,
  type ToolDefinition,
  type ZodToolOptions,
} from 'everlap';
import type { RunHandle } from 'everlap/client';
import { call, calls, text, type Script } from 'everlap/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { agent } from '../support/agent.js';
import { validMessages } from '../support/conversation.js';
import { heldTool } from '../support/held-tool.js';
import { eventsOf } from '../support/history.js';
import { eventually, startRig, type Rig } from '../support/rig.js';

let rig: Rig;
let ran: string[];
beforeEach(() => {
  ran = [];
});
afterEach(() => rig.stop());

const INPUT = z.object({ n: z.number() });
function tool(name: string, options: Partial<ZodToolOptions<typeof INPUT>> = {}): ToolDefinition {
  return defineTool({
    name,
    description: `Does ${name}.`,
    input: INPUT,
    execute: ({ n }) => {
      ran.push(`${name} ${n}`);
      return `${name} ${n} done`;
    },
    ...options,
  });
}
const look = tool('look', { effects: 'none' });
const put = tool('put', { effects: 'idempotent' });
const send = tool('send', { concurrency: 'serial' });
const pay = tool('pay', { approval: 'always' });
const payMuch = tool('pay_much', { approval: ({ n }) => n > 100 });
const ALL = [look, put, send, pay, payMuch];

const some = (...of: readonly [name: string, n: number][]) =>
  calls(of.map(([name, n]) => ({ name, arguments: { n }, id: `${name}_${n}` })));

async function start(script: Script, agent: Partial<AgentOptions> = {}): Promise<RunHandle> {
  rig = await startRig({ script, agent: { tools: ALL, ...agent } });
  return rig.start();
}

function waiting(run: RunHandle, ...ids: readonly string[]): Promise<unknown> {
  return eventually(
    async () => {
      const { pending } = await run.state();
      return JSON.stringify(pending.map(({ callId }) => callId)) === JSON.stringify(ids);
    },
    `waiting for ${ids.join(', ')}`,
  );
}

async function results(run: RunHandle): Promise<string[]> {
  return (await validMessages(run)).flatMap((message) => (message.role === 'tool' ? [message.text] : []));
}
const PLAN = expect.stringMatching(/^Not run: this run is in plan mode/) as string;

describe('plan', () => {
  test('tools with effects are refused with a sentence, and nobody is asked for them', async () => {
    const run = await start(
      [some(['look', 1], ['put', 2], ['send', 3], ['pay', 4], ['pay_much', 5]), text('My plan.')],
      {
        mode: 'plan',
      },
    );
    expect(await run.result()).toMatchObject({ status: 'completed', output: 'My plan.', toolCalls: 1 });
    expect(ran).toEqual(['look 1']);
    expect(await results(run)).toEqual(['look 1 done', PLAN, PLAN, PLAN, PLAN]);
    expect((await run.state()).mode).toBe('plan');
  });

  test('set between two serial calls of one answer: the second one does not begin', async () => {
    const work = heldTool({ effects: 'once', concurrency: 'serial' });
    const run = await start(
      [
        calls([
          { name: 'work', arguments: { name: 'a' } },
          { name: 'work', arguments: { name: 'b' } },
          { name: 'look', arguments: { n: 1 } },
        ]),
        text('Stopped.'),
      ],
      { tools: [work.tool, look] },
    );
    await work.gate.reached;
    await run.setMode('plan');
    work.gate.open();
    expect(await run.result()).toMatchObject({ status: 'completed', toolCalls: 2 });
    expect(work.ran).toEqual(['a']);
    expect(await results(run)).toEqual(['a is done', PLAN, 'look 1 done']);
  });

  test('set while a rule has approved a call that waits for its turn: it does not begin', async () => {
    const work = heldTool({ effects: 'none', concurrency: 'serial' });
    const run = await start(
      [
        some(['pay', 1]),
        calls([
          { name: 'work', arguments: { name: 'a' } },
          { name: 'pay', arguments: { n: 2 } },
        ]),
        text('Done.'),
      ],
      { tools: [work.tool, pay] },
    );
    await waiting(run, 'pay_1');
    await run.approve({ callId: 'pay_1', remember: 'tool' });
    await work.gate.reached;
    await run.setMode('plan');
    work.gate.open();
    await run.result();
    expect(ran).toEqual(['pay 1']);
    expect(await results(run)).toEqual(['pay 1 done', 'a is done', PLAN]);
  });

  test('a call that waits for a person already waits on, and runs when it is approved', async () => {
    const run = await start([some(['pay', 1], ['pay_much', 500]), some(['pay', 2]), text('Done.')]);
    await waiting(run, 'pay_1', 'pay_much_500');
    await run.setMode('plan');
    await waiting(run, 'pay_1', 'pay_much_500');
    await run.approve('pay_1');
    await run.deny('pay_much_500');
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(ran).toEqual(['pay 1']);
    expect(await results(run)).toEqual(['pay 1 done', expect.stringMatching(/^Denied/), PLAN]);
  });
});

describe('auto and ask', () => {
  test('auto asks only for tools that are marked always; the other way round they ask again', async () => {
    const run = await start(
      [some(['pay_much', 500], ['put', 1], ['pay', 2]), some(['pay_much', 600], ['pay_much', 5]), text('Done.')],
      { mode: 'auto' },
    );
    await waiting(run, 'pay_2');
    await eventually(async () => ran.length === 2);
    await run.setMode('ask');
    await run.approve('pay_2');
    await waiting(run, 'pay_much_600');
    await run.approve('pay_much_600');
    await run.result();
    expect([...ran].sort()).toEqual(['pay 2', 'pay_much 5', 'pay_much 500', 'pay_much 600', 'put 1']);
  });

  test('auto, set while a call waits: it waits on, and later ones do not ask', async () => {
    const run = await start([some(['pay_much', 500]), some(['pay_much', 600]), text('Done.')]);
    await waiting(run, 'pay_much_500');
    expect(await run.setMode('auto')).toEqual({ mode: 'auto' });
    await waiting(run, 'pay_much_500');
    await run.approve('pay_much_500');
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(ran).toEqual(['pay_much 500', 'pay_much 600']);
  });

  test('what is no mode is refused, and changes nothing', async () => {
    const run = await start([some(['pay', 1]), text('Done.')]);
    await waiting(run, 'pay_1');
    await expect(run.setMode('yolo' as 'auto')).rejects.toThrow(/one of ask, auto, plan/);
    await run.temporal.signal('setMode', { mode: 'auto' });
    expect(await eventually(async () => (await run.state()).lastError)).toMatch(/setMode was ignored/);
    expect((await run.state()).mode).toBe('ask');
    await run.approve('pay_1');
    await run.result();
    await expect(run.setMode('plan')).rejects.toMatchObject({ name: 'RunEndedError' });
  });
});

test('a mode set before the first turn, by signal, goes before that of the start and of the definition', async () => {
  rig = await startRig({
    startWorker: false,
    agent: { tools: ALL, mode: 'ask' },
    script: [some(['put', 1]), text('Done.')],
  });
  const run = await rig.start({ settings: { mode: 'auto' } });
  await run.temporal.signal('setMode', 'plan');
  await rig.startWorker();
  await run.result();
  expect(await results(run)).toEqual([PLAN]);
});

const asTool = (of: AgentDefinition): ToolDefinition => agentTool(of, { description: 'Does one task.' });

async function childOf({ id }: RunHandle): Promise<RunHandle> {
  const events = await eventsOf(rig.temporal, id);
  const ids = events.map((event) => event.startChildWorkflowExecutionInitiatedEventAttributes?.workflowId);
  return rig.client.handle(ids.find((one) => typeof one === 'string') ?? '');
}

test('plan, set at the top while agents below work: nothing with effects begins on any level, whatever their own mode', async () => {
  const work = heldTool({ effects: 'none' });
  const clerk = agent('clerk', { tools: [work.tool, put], mode: 'auto' });
  const lead = agent('lead', { tools: [asTool(clerk), put] });
  rig = await startRig({
    agents: [agent('chief', { tools: [asTool(lead), put] })],
    byTask: {
      'Do it.': [call('lead', { task: 'Lead.' }), some(['put', 1]), text('Done.')],
      'Lead.': [call('clerk', { task: 'Work.' }), some(['put', 2]), text('Led.')],
      'Work.': [call('work', { name: 'a' }), some(['put', 3]), text('Worked.')],
    },
  });
  const run = await rig.start();
  await work.gate.reached;
  const middle = await childOf(run);
  const bottom = await childOf(middle);
  await run.setMode('plan');
  await eventually(async () => (await bottom.state()).mode === 'plan', 'plan mode at the bottom');
  // Going back is not passed on: it might allow more than the agents' own modes do.
  await run.setMode('ask');
  work.gate.open();
  expect(await run.result()).toMatchObject({ status: 'completed' });
  expect(ran).toEqual(['put 1']);
  expect(await results(bottom)).toEqual(['a is done', PLAN]);
  expect((await results(middle))[1]).toEqual(PLAN);
});

test('auto at the caller is not its agents’ mode; plan at the start is', async () => {
  const clerk = agent('clerk', { tools: [payMuch] });
  const asks: Script = [some(['pay_much', 500]), text('Decided.')];
  rig = await startRig({
    agents: [agent('chief', { tools: [asTool(clerk)] })],
    byTask: {
      'Auto.': [call('clerk', { task: 'One.' }), text('Done.')],
      'Plan.': [call('clerk', { task: 'Two.' }), text('Done.')],
      'One.': asks,
      'Two.': asks,
    },
  });
  const auto = await rig.start({ task: 'Auto.', settings: { mode: 'auto' } });
  await waiting(auto, 'pay_much_500');
  await auto.approve('pay_much_500');
  await auto.result();
  expect(ran).toEqual(['pay_much 500']);
  const plan = await rig.start({ task: 'Plan.', settings: { mode: 'plan' } });
  await plan.result();
  expect(await results(await childOf(plan))).toEqual([PLAN]);
  expect(ran).toEqual(['pay_much 500']);
});

test('a mode that was set goes over to the agent that the conversation is handed to', async () => {
  const expert = agent('expert', { tools: [put], mode: 'auto' });
  rig = await startRig({
    agents: [agent('desk', { tools: [handoffTo(expert), pay] })],
    script: [some(['pay', 1]), call('handoff_to_expert', {}), some(['put', 1]), text('Planned.')],
  });
  const run = await rig.start();
  await waiting(run, 'pay_1');
  await run.setMode('plan');
  await run.deny('pay_1');
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'Planned.' });
  expect(ran).toEqual([]);
  expect((await results(run)).at(-1)).toEqual(PLAN);
});
