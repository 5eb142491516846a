/** SCENARIOS 17 to 20: approvals and questions. */
import { askHuman, defineTool, type ToolDefinition } from 'everlap';
import { call, calls, text, type Script } from 'everlap/testing';
import type { RunHandle } from 'everlap/client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { heldTool } from '../support/held-tool.js';
import { validMessages } from '../support/conversation.js';
import { eventually, startRig, type Rig } from '../support/rig.js';

let rig: Rig;
let ran: string[];
beforeEach(() => {
  ran = [];
});
afterEach(() => rig.stop());

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.object({ at: z.string() }),
  effects: 'none',
  execute: ({ at }) => {
    ran.push(`look ${at}`);
    return `seen ${at}`;
  },
});
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({ usd: z.number().positive() }),
  approval: 'always',
  execute: ({ usd }) => {
    ran.push(`pay ${usd}`);
    return `paid ${usd}`;
  },
});
const payMuch = defineTool({
  name: 'pay_much',
  description: 'Pays; asks for much.',
  input: z.object({ usd: z.number() }),
  approval: ({ usd }) => usd > 100,
  execute: ({ usd }) => {
    ran.push(`pay_much ${usd}`);
    return `paid ${usd}`;
  },
});
const payQuick = defineTool({ ...base('pay_quick'), approvalTimeout: '1 second' });

function base(name: string) {
  return {
    name,
    description: 'Pays.',
    input: z.object({ usd: z.number() }),
    approval: 'always' as const,
    execute: ({ usd }: { usd: number }) => {
      ran.push(`${name} ${usd}`);
      return `paid ${usd}`;
    },
  };
}

async function startWith(
  script: Script,
  tools: readonly ToolDefinition[] = [look, pay, payMuch, payQuick, askHuman()],
): Promise<RunHandle> {
  rig = await startRig({ script, agent: { tools } });
  return rig.start();
}

function waiting(run: RunHandle, count = 1) {
  return eventually(async () => {
    const state = await run.state();
    return state.pending.length === count && state;
  }, `${count} pending calls`);
}

function resultsIn(index: number): unknown[] {
  return (rig.model.requests[index]?.messages ?? []).flatMap((message) =>
    message.role === 'tool' ? [message.content] : [],
  );
}

const ONE_OF_EACH = calls([
  { name: 'pay', arguments: { usd: 5 }, id: 'gated' },
  { name: 'look', arguments: { at: 'it' }, id: 'free' },
]);

test('a free call runs at once, a gated one waits in state; approved, it runs', async () => {
  const run = await startWith([ONE_OF_EACH, text('Done.')]);
  const state = await waiting(run);
  expect(state).toMatchObject({ status: 'waiting', pending: [{ kind: 'approval', callId: 'gated', tool: 'pay' }] });
  await eventually(async () => ran.length === 1);
  expect(await run.approve('gated')).toEqual({ callId: 'gated', state: 'approved' });
  expect(await run.result()).toMatchObject({ status: 'completed', toolCalls: 2, turns: 2 });
  expect(ran).toEqual(['look it', 'pay 5']);
  expect(resultsIn(1)).toEqual(['paid 5', 'seen it']);
});

test('denied with a reason: the reason is its result, and the loop goes on', async () => {
  const run = await startWith([ONE_OF_EACH, text('Then not.')]);
  await waiting(run);
  await run.deny({ callId: 'gated', reason: 'Too dear.' });
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'Then not.' });
  expect(ran).toEqual(['look it']);
  expect(resultsIn(1)[0]).toMatch(/Denied.*Too dear\./);
});

test('two gated calls, decided in the other order, by signal and by update', async () => {
  const both = calls([
    { name: 'pay', arguments: { usd: 1 }, id: 'first' },
    { name: 'pay', arguments: { usd: 2 }, id: 'second' },
  ]);
  const run = await startWith([both, text('Done.')]);
  await waiting(run, 2);
  await run.temporal.signal('approve', 'second');
  await waiting(run, 1);
  await run.approve('first');
  await run.result();
  expect(resultsIn(1)).toEqual(['paid 1', 'paid 2']);
});

test('changed arguments are run; those that do not fit are refused and the call stays open', async () => {
  const run = await startWith([ONE_OF_EACH, text('Done.')]);
  await waiting(run);
  await expect(run.approve({ callId: 'gated', args: { usd: -1 } })).rejects.toThrow(/do not fit/);
  await waiting(run);
  await run.approve({ callId: 'gated', args: { usd: 3 } });
  await run.result();
  expect(ran).toContain('pay 3');
  // The model, which knows its own arguments only, is told.
  const told = (await validMessages(run)).filter((message) => message.role === 'user' && message.kind === 'notice');
  expect(told).toEqual([
    {
      role: 'user',
      kind: 'notice',
      text: 'A person has approved calls with other arguments than you gave. With these:\npay (call gated): {"usd":3}',
    },
  ]);
});

test('no changes are told of calls that were approved as they are, or denied, or that did not run', async () => {
  const gated = calls(['as_is', 'denied', 'late'].map((id) => ({ name: 'pay', arguments: { usd: 1 }, id })));
  rig = await startRig({ script: [gated, text('Done.')], agent: { tools: [pay], limits: { toolCalls: 1 } } });
  const run = await rig.start();
  await waiting(run, 3);
  await run.deny('denied');
  await Promise.allSettled([
    run.approve({ callId: 'as_is', args: { usd: 1 } }),
    run.approve({ callId: 'late', args: { usd: 2 } }),
  ]);
  expect(await run.result()).toMatchObject({ toolCalls: 1 });
  const told = (await validMessages(run)).filter((message) => message.role === 'user' && message.kind === 'notice');
  expect(told).toEqual([]);
});

test('unknown ids, second decisions and the wrong verb are refused; the signal is ignored and noted', async () => {
  const run = await startWith([ONE_OF_EACH, text('Done.')]);
  await waiting(run);
  await expect(run.approve('other')).rejects.toThrow(/No call other waits/);
  await expect(run.answer({ callId: 'gated', text: 'yes' })).rejects.toThrow(/waits for an approval/);
  await run.temporal.signal('approve', 'other');
  expect((await eventually(async () => (await run.state()).lastError)) ?? '').toMatch(/approve was ignored/);
  await run.approve('gated');
  await run.result();
  await expect(run.approve('gated')).rejects.toThrow(/has ended/);
});

test('a function decides by the arguments, in an activity', async () => {
  const run = await startWith([
    call('pay_much', { usd: 5 }),
    call('pay_much', { usd: 500 }, { id: 'much' }),
    text('Done.'),
  ]);
  await waiting(run);
  expect(ran).toEqual(['pay_much 5']);
  await run.approve('much');
  await run.result();
  expect(ran).toEqual(['pay_much 5', 'pay_much 500']);
});

test('remember: later calls that fit run without asking, as often as allowed', async () => {
  const run = await startWith([
    call('pay', { usd: 1 }, { id: 'a' }),
    call('pay', { usd: 2 }, { id: 'b' }),
    call('pay', { usd: 3 }, { id: 'c' }),
    text('Done.'),
  ]);
  await waiting(run);
  await run.approve({ callId: 'a', remember: { uses: 1 } });
  const state = await eventually(async () => {
    const now = await run.state();
    return now.pending[0]?.callId === 'c' && now;
  });
  expect(state.pending).toHaveLength(1);
  expect(ran).toEqual(['pay 1', 'pay 2']);
  await run.approve({ callId: 'c', remember: 'tool' });
  expect(await run.result()).toMatchObject({ status: 'completed' });
});

test('an approval with a timeout is denied when it passes, and the model is told', async () => {
  const run = await startWith([call('pay_quick', { usd: 1 }), text('Nobody came.')]);
  expect(await run.result()).toMatchObject({ output: 'Nobody came.' });
  expect(ran).toEqual([]);
  expect(resultsIn(1)[0]).toMatch(/nobody approved pay_quick in time/);
});

test('ask_human gets its answer as its result', async () => {
  const run = await startWith([call('ask_human', { question: 'Which?' }, { id: 'q' }), text('Red it is.')]);
  expect((await waiting(run)).pending).toMatchObject([{ kind: 'question', callId: 'q' }]);
  await run.answer({ callId: 'q', text: 'Red.' });
  expect(await run.result()).toMatchObject({ output: 'Red it is.' });
  expect(resultsIn(1)).toEqual(['Red.']);
});

test.each(['force-finish', 'cancel'] as const)('%s closes what waits, with a result that says so', async (how) => {
  const run = await startWith([ONE_OF_EACH]);
  await waiting(run);
  await eventually(async () => ran.length === 1);
  await (how === 'cancel' ? run.cancel() : run.forceFinish());
  expect(await run.result()).toMatchObject({ status: how === 'cancel' ? 'cancelled' : 'stopped' });
  const results = (await run.messages()).filter((message) => message.role === 'tool');
  expect(results).toMatchObject([
    { callId: 'gated', isError: true },
    { callId: 'free', text: 'seen it' },
  ]);
});

test('modes: auto asks only for tools marked always; plan runs nothing with effects', async () => {
  const run = await startWith([
    call('pay_much', { usd: 500 }),
    call('pay', { usd: 1 }, { id: 'gated' }),
    calls([
      { name: 'pay', arguments: { usd: 2 }, id: 'planned' },
      { name: 'look', arguments: { at: 'it' }, id: 'looked' },
    ]),
    text('Done.'),
  ]);
  await run.setMode('auto');
  await waiting(run);
  expect(ran).toEqual(['pay_much 500']);
  await run.setMode('plan');
  await run.approve('gated');
  await run.result();
  expect(ran).toEqual(['pay_much 500', 'pay 1', 'look it']);
  expect(resultsIn(3)[2]).toMatch(/plan mode/);
});

test('a tool that ends the run: its result is the output', async () => {
  const finish = defineTool({ ...base('finish'), approval: 'never', ends: true });
  const run = await startWith([call('finish', { usd: 7 })], [finish]);
  expect(await run.result()).toMatchObject({ status: 'completed', reason: 'tool_ended', output: 'paid 7', turns: 1 });
});

test('calls that turn out to need nobody run together, as neighbours do', async () => {
  const work = heldTool({ approval: () => false });
  await startWith(
    [calls(['a', 'b', 'c'].map((name) => ({ name: 'work', arguments: { name } }))), text('Done.')],
    [work.tool],
  );
  await eventually(async () => work.ran.length === 3, 'three at work');
  work.gate.open();
});

const LONG_AND_GATED = calls([
  { name: 'work', arguments: { name: 'long' } },
  { name: 'pay', arguments: { usd: 5 }, id: 'gated' },
]);

test('a call that is approved runs beside one that takes long, and a pause waits for both', async () => {
  const work = heldTool();
  const run = await startWith([LONG_AND_GATED, text('Done.')], [work.tool, pay]);
  await waiting(run);
  await eventually(async () => work.ran.length === 1, 'the long one');
  const paused = run.pause();
  await eventually(
    async () =>
      (await run.temporal.fetchHistory()).events?.some((event) => event.workflowExecutionUpdateAcceptedEventAttributes),
    'the pause',
  );
  await run.approve('gated');
  expect(ran).toEqual([]);
  expect(await run.state()).toMatchObject({ phase: 'tools' });
  work.gate.open();
  expect(await paused).toMatchObject({ status: 'paused' });
  expect(ran).toEqual([]);
  await run.resume();
  expect(await run.result()).toMatchObject({ status: 'completed', toolCalls: 2 });
  expect(ran).toEqual(['pay 5']);
});

test('a call that is approved does not wait for one that takes long', async () => {
  const work = heldTool();
  const run = await startWith([LONG_AND_GATED, text('Done.')], [work.tool, pay]);
  await waiting(run);
  await run.approve('gated');
  await eventually(async () => ran.length === 1, 'the payment');
  work.gate.open();
  expect(await run.result()).toMatchObject({ status: 'completed', toolCalls: 2 });
});
