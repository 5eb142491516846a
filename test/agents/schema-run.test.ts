/** Runs with tools by JSON Schema, with strict tools, and with `finish`: what the model is sent, and what comes back. */
import { DefinitionError, defineAgent, defineTool, type AgentOptions } from 'everlap';
import { call, calls, text } from 'everlap/testing';
import { finishTool } from 'everlap/tools';
import { createWorker } from 'everlap/worker';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { eventually, startRig, type Rig, type RigOptions } from '../support/rig.js';

let rig: Rig | undefined;
afterEach(async () => {
  await rig?.stop();
  rig = undefined;
});

const parameters = {
  type: 'object',
  properties: { x: { type: 'integer' }, label: { type: 'string' } },
  required: ['x'],
  additionalProperties: false,
};
const plot = defineTool({
  name: 'plot',
  description: 'Plots a point.',
  parameters,
  strict: true,
  effects: 'none',
  execute: (args) => args,
});
const plotAsked = defineTool({ ...byJson('plot_asked'), approval: ({ x }) => x === 13 });
const search = defineTool({
  name: 'search',
  description: 'Searches.',
  input: z.object({ query: z.string(), limit: z.number().default(10), after: z.string().nullish() }),
  strict: true,
  effects: 'none',
  execute: (args) => args,
});

function byJson(name: string) {
  return { name, description: 'Plots a point.', parameters, execute: (args: object) => args };
}

async function start(options: RigOptions & { agent: Partial<AgentOptions> }) {
  rig = await startRig(options);
  return { rig, run: await rig.start() };
}

test('a tool by JSON Schema runs, refuses and asks as any other', async () => {
  const { run } = await start({
    agent: { tools: [plot, plotAsked] },
    script: [
      calls([
        { name: 'plot', arguments: { x: 1, label: 'a' } },
        { name: 'plot', arguments: { x: 'one' } },
        { name: 'plot', arguments: '[1]' },
        { name: 'plot', arguments: '{"x":' },
        { name: 'plot_asked', arguments: { x: 1.5 } },
        { name: 'plot_asked', arguments: { x: 12 } },
        { name: 'plot_asked', arguments: { x: 13 }, id: 'asked' },
      ]),
      text('Done.'),
    ],
  });
  await eventually(async () => (await run.state()).pending.length === 1, 'a pending call');
  await expect(run.approve({ callId: 'asked', args: { x: 'no' } })).rejects.toThrow(/integer/);
  await run.approve({ callId: 'asked', args: { x: 14 } });
  expect(await run.result()).toMatchObject({ status: 'completed' });
  const results = (await run.messages()).flatMap((message) => (message.role === 'tool' ? [message.text] : []));
  expect(results).toEqual([
    '{"x":1,"label":"a"}',
    'Error: the arguments do not fit the tool plot, so it was not run.\n✖ Invalid input: must be integer\n  → at x',
    expect.stringContaining('must be one JSON object') as string,
    expect.stringContaining('not valid JSON') as string,
    expect.stringContaining('must be integer') as string,
    '{"x":12}',
    '{"x":14}',
  ]);
});

test('strict tools are sent as such, all fields required; nulls for fields left out do not reach the tool', async () => {
  const { rig, run } = await start({
    agent: { tools: [plot, search, plotAsked] },
    script: [
      calls([
        { name: 'plot', arguments: { x: 1, label: null } },
        { name: 'search', arguments: { query: 'a', limit: null, after: null } },
      ]),
      text('Done.'),
    ],
  });
  expect(await run.result()).toMatchObject({ status: 'completed' });
  const sent = rig.model.requests[0]?.body['tools'] as { function: Record<string, unknown> }[];
  expect(sent.map((tool) => tool.function).slice(0, 3)).toMatchObject([
    { name: 'plot', strict: true, parameters: { required: ['x', 'label'], additionalProperties: false } },
    {
      name: 'search',
      strict: true,
      parameters: { required: ['query', 'limit', 'after'], additionalProperties: false },
    },
    { name: 'plot_asked', parameters },
  ]);
  expect(sent[2]?.function).not.toHaveProperty('strict');
  const results = (await run.messages()).flatMap((message) => (message.role === 'tool' ? [message.text] : []));
  expect(results).toEqual(['{"x":1}', '{"query":"a","limit":10,"after":null}']);
});

test('a schema that does not compile is refused when the worker starts, naming the tool', async () => {
  const broken = defineTool({
    ...byJson('broken'),
    parameters: { type: 'object', properties: { a: { type: 'text' } } },
  });
  const agents = [defineAgent({ name: 'a', instructions: '', model: 'gpt-5-mini', tools: [broken] })];
  await expect(createWorker({ agents })).rejects.toThrow(DefinitionError);
  await expect(createWorker({ agents })).rejects.toThrow(/Tool broken: its parameters are no JSON Schema/);
});

test('finish: its output is the run’s, after the other calls of the same answer', async () => {
  const { run } = await start({
    agent: { tools: [plot, finishTool()] },
    script: [
      call('finish', { output: '' }),
      calls([
        { name: 'finish', arguments: { output: 'All plotted.' } },
        { name: 'plot', arguments: { x: 2 } },
      ]),
    ],
  });
  expect(await run.result()).toMatchObject({
    status: 'completed',
    reason: 'tool_ended',
    output: 'All plotted.',
    turns: 2,
    toolCalls: 3,
  });
});

test('finish by another name and description', () => {
  expect(finishTool({ name: 'submit', description: 'Submit it.' })).toMatchObject({
    name: 'submit',
    description: 'Submit it.',
    ends: true,
    effects: 'none',
  });
});
