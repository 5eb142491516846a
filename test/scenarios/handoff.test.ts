/** The conversation goes over to another agent, within one run. */
import { defineTool, handoffTo, type AgentDefinition } from 'everlap';
import { call, calls, text } from 'everlap/testing';
import { everlapBundle } from 'everlap/worker';
import { Worker } from '@temporalio/worker';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { startDevServer, type DevServer } from '../../src/dev/dev-server.js';
import { agent } from '../support/agent.js';
import { executionsOf } from '../support/history.js';
import { startRig, type Rig } from '../support/rig.js';

let server: DevServer;
let rig: Rig;
beforeAll(async () => {
  // A turn has some 12 events: a new execution every few turns.
  server = await startDevServer({ dynamicConfig: ['limit.historyCount.suggestContinueAsNew=15'] });
});
afterEach(() => rig.stop());
afterAll(() => server.stop());

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.object({}),
  effects: 'none',
  execute: () => 'seen',
});

const expert = agent('expert', { tools: [look], model: 'gpt-4.1-mini', limits: { turns: 1 } });

function asked(index: number): { system: unknown; tools: string[]; model: string | undefined } {
  const body = rig.model.requests[index]?.body;
  const [system] = body?.messages ?? [];
  const tools = body?.tools ?? [];
  return {
    system: system?.content,
    tools: tools.map((tool) => tool.function?.name ?? ''),
    model: body?.model,
  };
}

test('instructions, tools and model are the other agent’s; conversation and limits stay the run’s', async () => {
  rig = await startRig({
    agents: [agent('desk', { tools: [handoffTo(expert)] })],
    script: [call('handoff_to_expert', {}, { text: 'Not mine.' }), call('look'), text('Solved.')],
  });
  const run = await rig.start();
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'Solved.', turns: 3 });
  expect(asked(0)).toMatchObject({ system: 'You are desk.' });
  expect(asked(0).tools).toContain('handoff_to_expert');
  expect(asked(1)).toMatchObject({ system: 'You are expert.', model: 'gpt-4.1-mini' });
  expect(asked(1).tools).toContain('look');
  expect(asked(1).tools).not.toContain('handoff_to_expert');
  expect(await run.state()).toMatchObject({ agent: 'expert' });
  expect(await run.messages()).toMatchObject([
    { role: 'user', text: 'Do it.' },
    { role: 'assistant', text: 'Not mine.' },
    { role: 'tool', text: 'The conversation goes over to expert.' },
    { role: 'assistant' },
    { role: 'tool', text: 'seen' },
    { role: 'assistant', text: 'Solved.' },
  ]);
  const { searchAttributes } = await run.temporal.describe();
  expect(searchAttributes['EverlapAgent'] ?? ['expert']).toEqual(['expert']);
  const history = await run.temporal.fetchHistory();
  await Worker.runReplayHistory({ workflowBundle: everlapBundle() }, history, run.id);
});

test('several handoffs in one answer: the first counts, the others are told; other calls of the answer run', async () => {
  const other = agent('other');
  rig = await startRig({
    agents: [agent('desk', { tools: [handoffTo(expert), handoffTo(other), look] })],
    script: [
      calls([
        { name: 'handoff_to_expert', arguments: {} },
        { name: 'handoff_to_other', arguments: {} },
        { name: 'look', arguments: {} },
      ]),
      text('Solved.'),
    ],
  });
  const run = await rig.start();
  await run.result();
  expect(await run.state()).toMatchObject({ agent: 'expert' });
  expect((await run.messages()).flatMap(({ role, text }) => (role === 'tool' ? [text] : []))).toEqual([
    'The conversation goes over to expert.',
    'Not done: the conversation goes over to expert already.',
    'seen',
  ]);
});

test('there and back again, over continue-as-new: whoever has the conversation keeps it', async () => {
  const desk: AgentDefinition = agent('desk', {
    tools: [handoffTo((): AgentDefinition => clerk, { name: 'to_clerk' })],
  });
  const clerk: AgentDefinition = agent('clerk', { tools: [look, handoffTo(desk)] });
  rig = await startRig({
    address: server.address,
    agents: [desk],
    script: [call('to_clerk'), call('look'), call('look'), call('look'), call('handoff_to_desk'), text('Back.')],
  });
  const run = await rig.start();
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'Back.' });
  expect((await executionsOf(rig.temporal, run.id)).length).toBeGreaterThan(1);
  const [first, ...others] = rig.model.requests.map(({ index }) => asked(index).system);
  expect(first).toBe('You are desk.');
  expect(others.slice(0, -1)).toEqual(Array(4).fill('You are clerk.'));
  expect(others.at(-1)).toBe('You are desk.');
  expect(await run.state()).toMatchObject({ agent: 'desk' });
});

test('an agent that cannot keep the run’s limits does not take over', async () => {
  const unpriced = agent('unpriced', { model: 'a-model-of-no-known-price' });
  rig = await startRig({
    agents: [agent('desk', { tools: [handoffTo(unpriced)], limits: { usd: 5 } })],
    script: [call('handoff_to_unpriced'), text('Then I do it.')],
  });
  const run = await rig.start();
  expect(await run.result()).toMatchObject({ output: 'Then I do it.' });
  expect(await run.state()).toMatchObject({ agent: 'desk' });
  expect((await run.messages())[2]).toMatchObject({
    isError: true,
    text: expect.stringMatching(/stays with you.*price/),
  });
});

test.each([
  ['plan', undefined, 'plan'],
  ['ask', 'auto', 'ask'],
  ['auto', 'ask', 'ask'],
] as const)('from an agent in mode %s to one in mode %s: the run is in %s', async (from, to, then) => {
  const act = defineTool({ name: 'act', description: 'Acts.', input: z.object({}), execute: () => 'acted' });
  const other = agent('other', { tools: [act], ...(to && { mode: to }) });
  rig = await startRig({
    agents: [agent('desk', { mode: from, tools: [handoffTo(other)] })],
    script: [call('handoff_to_other'), call('act'), text('Done.')],
  });
  const run = await rig.start();
  await run.result();
  expect(await run.state()).toMatchObject({ agent: 'other', mode: then });
  const result = (await run.messages()).at(-2)?.text;
  expect(result).toMatch(then === 'plan' ? /plan mode/ : /^acted$/);
});
