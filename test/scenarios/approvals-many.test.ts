/** Calls that wait for a person: many at once, for long, at the edges of limits and modes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { askHuman, defineTool, type AgentOptions, type ToolDefinition, type ZodToolOptions } from 'everlap';
import type { RunHandle, RunView } from 'everlap/client';
import { calls, text, type Script, type ScriptedCall, type Step } from 'everlap/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { validMessages } from '../support/conversation.js';
import { eventsOf, typeOf } from '../support/history.js';
import { eventually, startRig, type Rig } from '../support/rig.js';

let rig: Rig;
let ran: string[];
beforeEach(() => {
  ran = [];
});
afterEach(() => rig.stop());

const INPUT = z.object({ n: z.number(), note: z.string().optional() });

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
const pay = tool('pay', { approval: 'always' });
const look = tool('look', { effects: 'none' });

async function start(script: Script, agent: Partial<AgentOptions>): Promise<RunHandle> {
  rig = await startRig({ script, agent });
  return rig.start();
}

function waiting(run: RunHandle, count = 1): Promise<RunView> {
  return eventually(async () => {
    const state = await run.state();
    return state.pendingCount === count && state;
  }, `${count} waiting calls`);
}

async function results(run: RunHandle): Promise<string[]> {
  return (await validMessages(run)).flatMap((message) => (message.role === 'tool' ? [message.text] : []));
}

/** Always the same order, and none of the usual ones. */
function shuffled<T>(list: readonly T[]): T[] {
  return list
    .map((one, i) => [(i * 7919) % 1009, one] as const)
    .sort(([a], [b]) => a - b)
    .map(([, one]) => one);
}

const numbered = (count: number, fields: (n: number) => Partial<ScriptedCall> = () => ({})): ScriptedCall[] =>
  Array.from({ length: count }, (_, n) => ({ name: 'pay', arguments: { n }, id: `call_${n}`, ...fields(n) }));

test.each([
  ['small ones', () => ({})],
  ['long arguments of three bytes a character', (n: number) => ({ arguments: { n, note: '汉'.repeat(5000) } })],
  [
    'arguments and ids of control characters',
    (n: number) => ({ arguments: { n, note: '\u0001'.repeat(2000) }, id: `${n}${'\u0002'.repeat(150)}` }),
  ],
  ['ids that are signatures', (n: number) => ({ id: `call_${n}__thought__${'A'.repeat(3000)}${n}` })],
])('30 calls wait at once (%s): state stays under 64 KB, and all can be decided, in any order', async (_, fields) => {
  const run = await start([calls(numbered(30, fields)), text('Done.')], { tools: [pay] });
  const state = await waiting(run, 30);
  expect(Buffer.byteLength(JSON.stringify(state))).toBeLessThan(64 * 1024);
  expect(state.pending).toHaveLength(30);
  for (const [i, { callId }] of shuffled(state.pending).entries()) {
    if (i % 3 === 0) await run.deny({ callId, reason: 'No.' });
    else expect(await run.approve(callId)).toEqual({ callId, state: 'approved' });
  }
  expect(await run.result()).toMatchObject({ status: 'completed', toolCalls: 20 });
  const said = await results(run);
  expect(said.filter((words) => words.startsWith('Denied'))).toHaveLength(10);
  said.forEach((words, n) => expect(words).toMatch(new RegExp(`^(pay ${n} done|Denied .*No\\.)$`)));
  expect(ran).toHaveLength(20);
  expect(new Set(ran).size).toBe(20);
});

test('more than state shows: the others come up as the first are decided; the whole id of a call is as good as its short one', async () => {
  const long = (n: number): string => `call_${n}_${'x'.repeat(400)}`;
  const run = await start([calls(numbered(40, (n) => ({ id: long(n) }))), text('Done.')], { tools: [pay] });
  expect((await waiting(run, 40)).pending).toHaveLength(30);
  const short = (await run.approve(long(39))).callId;
  expect(short.length).toBeLessThan(300);
  await expect(run.approve(short)).rejects.toThrow(/decided or closed already/);
  for (let left = 39; left > 0; left -= 1) {
    const [next] = (await run.state()).pending;
    await run.approve(next?.callId ?? '');
  }
  expect(await run.result()).toMatchObject({ status: 'completed', toolCalls: 40 });
});

test.each([
  ['without a time limit', {}, 0],
  ['with one: its timer, and nothing else', { approvalTimeout: '1 hour' as const }, 1],
])('idle waiting adds no history, %s', async (_, limit, timers) => {
  const gated = tool('pay', { approval: 'always', ...limit });
  const question = askHuman({ ...('approvalTimeout' in limit && { timeout: '2 hours' as const }) });
  const run = await start(
    [calls([...numbered(2), { name: 'ask_human', arguments: { question: 'Well?' }, id: 'q' }]), text('Done.')],
    { tools: [gated, question] },
  );
  await waiting(run, 3);
  const before = (await eventsOf(rig.temporal, run.id)).map(typeOf);
  expect(before.filter((type) => type === 'EVENT_TYPE_TIMER_STARTED')).toHaveLength(3 * timers);
  await sleep(5000);
  // Being asked costs nothing either.
  await run.state();
  expect((await eventsOf(rig.temporal, run.id)).map(typeOf)).toEqual(before);
  await run.approve('call_0');
  await run.approve('call_1');
  await run.answer({ callId: 'q', text: 'Yes.' });
  await run.result();
  expect(await results(run)).toEqual(['pay 0 done', 'pay 1 done', 'Yes.']);
});

test.each<['stop' | 'summarize', Step[], string | null]>([
  ['stop', [], null],
  ['summarize', [text('One was paid.')], 'One was paid.'],
])('an approval on the last allowed turn: the call runs, then the limit counts (%s)', async (onLimit, more, output) => {
  const run = await start([calls(numbered(2)), ...more], { tools: [pay], limits: { turns: 1 }, onLimit });
  await waiting(run, 2);
  await run.approve('call_1');
  await run.deny('call_0');
  expect(await run.result()).toMatchObject({
    status: 'exhausted',
    reason: 'max_turns',
    output,
    turns: 1,
    toolCalls: 1,
  });
  expect(ran).toEqual(['pay 1']);
  expect((await results(run)).slice(0, 2)).toEqual([expect.stringMatching(/^Denied/), 'pay 1 done']);
});

test('nobody is asked for calls that the limit of tool calls leaves no room for, and those that wait are closed by it', async () => {
  const run = await start(
    [calls([...numbered(3), { name: 'look', arguments: { n: 9 } }]), calls([{ name: 'pay', arguments: { n: 8 } }])],
    { tools: [pay, look], limits: { toolCalls: 2 } },
  );
  await waiting(run, 3);
  const decided = await Promise.allSettled([0, 1, 2].map((n) => run.approve(`call_${n}`)));
  expect(decided.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  for (const one of decided) {
    if (one.status === 'rejected')
      expect(one.reason).toMatchObject({ name: expect.stringMatching(/^Run(Argument|Ended)Error$/) });
  }
  expect(await run.result()).toMatchObject({ status: 'exhausted', reason: 'max_tool_calls', toolCalls: 2 });
  const approved = decided.findIndex(({ status }) => status === 'fulfilled');
  expect(ran.filter((what) => what.startsWith('pay'))).toEqual([`pay ${approved}`]);
  const said = await results(run);
  expect(said.filter((words) => /limit of tool calls/.test(words))).toHaveLength(2);
  expect(said[approved]).toBe(`pay ${approved} done`);
});

test('a limit of tool calls that is used up already: nobody is asked', async () => {
  const run = await start(
    [
      calls([
        { name: 'look', arguments: { n: 1 } },
        { name: 'pay', arguments: { n: 2 } },
      ]),
    ],
    {
      tools: [pay, look],
      limits: { toolCalls: 1 },
    },
  );
  expect(await run.result()).toMatchObject({ status: 'exhausted', reason: 'max_tool_calls', toolCalls: 1 });
  expect(ran).toEqual(['look 1']);
  expect(await results(run)).toEqual(['look 1 done', expect.stringMatching(/^Not run: the limit of tool calls/)]);
});
