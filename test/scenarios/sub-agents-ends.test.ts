/** Ends of runs that have called agents: they reach all levels, whenever they come, and what was used is counted. */
import { setTimeout as sleep } from 'node:timers/promises';
import { agentTool, defineTool, type AgentDefinition, type ToolDefinition } from 'everlap';
import type { RunHandle } from 'everlap/client';
import { call, calls, text, type Script } from 'everlap/testing';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { agent } from '../support/agent.js';
import { validMessages } from '../support/conversation.js';
import { heldTool } from '../support/held-tool.js';
import { eventsOf } from '../support/history.js';
import { eventually, startRig, type Rig } from '../support/rig.js';

let rig: Rig;
afterEach(() => rig.stop());

const asTool = (of: AgentDefinition): ToolDefinition => agentTool(of, { description: 'Does one task.' });
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({ usd: z.number() }),
  approval: 'always',
  execute: ({ usd }) => `paid ${usd}`,
});

const tasks = (tool: string, ...names: readonly string[]) =>
  calls(names.map((task) => ({ name: tool, arguments: { task }, id: `call_${task}` })));

async function childrenOf(id: string): Promise<string[]> {
  const events = await eventsOf(rig.temporal, id);
  return events.flatMap((event) => event.startChildWorkflowExecutionInitiatedEventAttributes?.workflowId ?? []);
}

/** Children, and theirs. */
async function allBelow(id: string): Promise<string[]> {
  const children = await childrenOf(id);
  return [...children, ...(await Promise.all(children.map(allBelow))).flat()];
}

async function isToldToFinish(id: string): Promise<boolean> {
  const events = await eventsOf(rig.temporal, id);
  return events.some((event) => event.workflowExecutionSignaledEventAttributes?.signalName === 'forceFinish');
}

test.each(['cancel', 'forceFinish', 'deadline'] as const)(
  '%s reaches three levels: two leads with two clerks each, in tools and waiting for people; all that was used is counted',
  async (how) => {
    const work = heldTool();
    const clerk = agent('clerk', { tools: [work.tool, pay] });
    const lead = agent('lead', { tools: [asTool(clerk)] });
    const works = (name: string): Script => [call('work', { name })];
    rig = await startRig({
      agents: [agent('chief', { tools: [asTool(lead)] })],
      byTask: {
        'Do it.': [tasks('lead', 'Lead A.', 'Lead B.')],
        'Lead A.': [tasks('clerk', 'Work A.', 'Pay A.')],
        'Lead B.': [tasks('clerk', 'Work B.', 'Pay B.')],
        'Work A.': works('a'),
        'Work B.': works('b'),
        'Pay A.': [call('pay', { usd: 1 }, { id: 'a' })],
        'Pay B.': [call('pay', { usd: 2 }, { id: 'b' })],
      },
    });
    const run = await rig.start();
    await eventually(async () => work.ran.length === 2 && (await run.state()).pendingCount === 2, 'all at work');
    if (how === 'deadline') await run.setLimits({ duration: 1 });
    else await run[how]();
    // Force-finish waits for what runs already, on each level.
    if (how === 'forceFinish') {
      for (const id of await allBelow(run.id)) await eventually(() => isToldToFinish(id), 'force-finish');
      work.gate.open();
    }
    const result = await run.result();
    const reason = { cancel: 'cancelled', forceFinish: 'force_finished', deadline: 'deadline' }[how];
    expect(result).toMatchObject({ reason, turns: 1, toolCalls: 2 });
    const below = await allBelow(run.id);
    expect(below).toHaveLength(6);
    const ends = await Promise.all(below.map((id) => rig.client.handle(id).result()));
    expect(new Set(ends.map((end) => end.reason))).toEqual(
      new Set([how === 'forceFinish' ? 'force_finished' : 'cancelled']),
    );
    // A lead's usage has its clerks' in it already.
    const leads = ends.slice(0, 2);
    const [own] = rig.model.requests.filter(({ task }) => task === 'Do it.');
    expect(own).toBeDefined();
    const clerks = ends.slice(2).reduce((sum, { usage }) => sum + usage.input, 0);
    const counted = leads.reduce((sum, { usage }) => sum + usage.input, 0);
    expect(counted).toBeGreaterThan(clerks);
    expect(result.usage.input).toBeGreaterThan(counted);
    expect(result.costUsd).toBeGreaterThan(leads.reduce((sum, { costUsd }) => sum + (costUsd ?? NaN), 0));
    for (const id of [run.id, ...below]) await validMessages(rig.client.handle(id));
  },
);

test.each(['cancel', 'forceFinish'] as const)(
  '%s in any moment while agents are being started: none is left behind',
  async (how) => {
    const work = heldTool();
    const names = Array.from({ length: 25 }, (_, n) => `chief ${n}.`);
    const clerk = agent('clerk', { tools: [work.tool] });
    const clerks = (name: string): string[] => [1, 2, 3].map((n) => `${name} clerk ${n}.`);
    rig = await startRig({
      agents: [agent('chief', { tools: [asTool(clerk)] })],
      byTask: Object.fromEntries(
        names.flatMap((name): [string, Script][] => [
          [name, () => tasks('clerk', ...clerks(name))],
          ...clerks(name).map((task): [string, Script] => [task, () => call('work', { name: 'free' })]),
        ]),
      ),
    });
    const runs = await Promise.all(
      names.map(async (task, n) => {
        const run = await rig.start({ task });
        await eventually(async () => rig.model.requests.some((request) => request.task === task), 'its model call');
        await sleep(n * 25);
        await run[how]();
        if (how === 'forceFinish') work.gate.open();
        return run;
      }),
    );
    for (const run of runs) {
      expect((await run.result()).status).toBe(how === 'cancel' ? 'cancelled' : 'stopped');
      const messages = await validMessages(run);
      const results = messages.filter(({ role }) => role === 'tool');
      expect([0, 3]).toContain(results.length);
      for (const id of await childrenOf(run.id)) {
        const { status } = await rig.temporal.workflow.getHandle(id).describe();
        expect(status.name, id).not.toBe('RUNNING');
      }
    }
  },
  120_000,
);

test('an id that would grow too long for a workflow is shortened, on every level, and stays one’s own', async () => {
  const self: AgentDefinition = agent('self', {
    tools: [agentTool((): AgentDefinition => self, { name: 'again', description: 'Yourself.', maxDepth: 3 })],
  });
  const deeper = (task: string): Script => [
    calls([1, 2].map((n) => ({ name: 'again', arguments: { task: `${task}${n}.` } }))),
    text('Up again.'),
  ];
  rig = await startRig({
    agents: [self],
    byTask: {
      'Do it.': deeper('Two '),
      'Two 1.': deeper('Three '),
      'Two 2.': [text('Enough.')],
      'Three 1.': [text('Enough.')],
      'Three 2.': [text('Enough.')],
    },
  });
  const id = `run-${rig.taskQueue}-${'x'.repeat(180)}`;
  const run = await rig.start({ id });
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'Up again.' });
  const below = await allBelow(id);
  expect(below).toHaveLength(4);
  expect(new Set(below).size).toBe(4);
  for (const one of below) expect(one.length).toBeLessThanOrEqual(255);
});

test.each(['at the parent', 'at the child'])(
  'three in parallel: one fails, one is stopped at its limit, one is decided %s; each is a result that says which',
  async (where) => {
    const clerk = agent('clerk', { tools: [pay], limits: { turns: 1 } });
    const payer = agent('payer', { tools: [pay] });
    rig = await startRig({
      agents: [agent('chief', { tools: [asTool(clerk), asTool(payer)] })],
      byTask: {
        'Do it.': [
          calls([
            { name: 'clerk', arguments: { task: 'Fail.' } },
            { name: 'clerk', arguments: { task: 'Waste.' } },
            { name: 'payer', arguments: { task: 'Pay.' } },
          ]),
          text('Done.'),
        ],
        'Fail.': [text('', { finish: 'content_filter' })],
        'Waste.': [call('pay', '{', { text: 'So far so good.' })],
        'Pay.': [call('pay', { usd: 5 }, { id: 'gated' }), text('Asked.')],
      },
    });
    const run = await rig.start();
    const [waiting] = await eventually(async () => {
      const { pending } = await run.state();
      return pending.length === 1 && pending;
    });
    const decider: RunHandle = where === 'at the parent' ? run : rig.client.handle(waiting?.run ?? '');
    await decider.deny({ callId: 'gated', reason: 'Too dear.' });
    expect(await run.result()).toMatchObject({ status: 'completed', output: 'Done.' });
    const results = (await validMessages(run)).flatMap((message) => (message.role === 'tool' ? [message.text] : []));
    expect(results).toEqual([
      expect.stringMatching(/^The agent clerk failed \(content_filter\)/),
      expect.stringMatching(/^The agent clerk reached a limit .*\(max_turns\)/),
      'Asked.',
    ]);
    expect((await run.state()).pending).toEqual([]);
  },
);
