/** `ask_human`: questions to people, with options and without, answered in time or not. */
import { agentTool, askHuman, defineAgent, type AgentOptions, type AskHumanOptions } from 'everlap';
import type { RunHandle, RunView } from 'everlap/client';
import { calls, text, type Script } from 'everlap/testing';
import { afterEach, expect, test } from 'vitest';
import { validMessages } from '../support/conversation.js';
import { eventually, startRig, type Rig } from '../support/rig.js';

let rig: Rig;
afterEach(() => rig.stop());

async function start(script: Script, options?: AskHumanOptions, agent: Partial<AgentOptions> = {}): Promise<RunHandle> {
  rig = await startRig({ script, agent: { tools: [askHuman(options)], ...agent } });
  return rig.start();
}

function waiting(run: RunHandle, count = 1): Promise<RunView> {
  return eventually(async () => {
    const state = await run.state();
    return state.pendingCount === count && state;
  }, `${count} questions`);
}

async function results(run: RunHandle): Promise<unknown[]> {
  return (await validMessages(run)).filter((message) => message.role === 'tool');
}

const ask = (id: string, question: string, options?: string[]) => ({
  name: 'ask_human',
  arguments: { question, ...(options && { options }) },
  id,
});

test('options are shown, and any text is an answer; several questions wait at once, each with its own answer', async () => {
  const run = await start([
    calls([ask('colour', 'Which colour?', ['red', 'blue']), ask('size', 'How large?')]),
    text('Noted.'),
  ]);
  const { pending, status } = await waiting(run, 2);
  expect(status).toBe('waiting');
  expect(pending).toMatchObject([
    {
      kind: 'question',
      callId: 'colour',
      tool: 'ask_human',
      args: '{"question":"Which colour?","options":["red","blue"]}',
    },
    { kind: 'question', callId: 'size', args: '{"question":"How large?"}' },
  ]);
  expect(await run.answer({ callId: 'size', text: 'About so: 汉\n"large"' })).toEqual({
    callId: 'size',
    state: 'answered',
  });
  await run.answer({ callId: 'colour', text: 'green' });
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'Noted.', toolCalls: 0 });
  expect(await results(run)).toMatchObject([{ text: 'green' }, { text: 'About so: 汉\n"large"' }]);
});

test('what is no answer is refused, and the question waits on', async () => {
  const run = await start([calls([ask('q', 'Well?')]), text('Done.')]);
  await waiting(run);
  await expect(run.answer({ callId: 'q', text: ' \n' })).rejects.toThrow(/empty/);
  await expect(run.answer({ callId: 'q', text: 'x'.repeat(200_001) })).rejects.toThrow(/at most 200000 characters/);
  await expect(run.answer({ callId: 'p', text: 'Yes.' })).rejects.toThrow(/No call p waits/);
  await expect(run.approve('q')).rejects.toThrow(/waits for an answer; use "answer"/);
  await run.temporal.signal('answer', 'q');
  expect(await eventually(async () => (await run.state()).lastError)).toMatch(/answer was ignored/);
  await waiting(run);
  await run.answer({ callId: 'q', text: 'Yes.' });
  await run.result();
  expect(await results(run)).toMatchObject([{ text: 'Yes.' }]);
});

test('a question that is none asks nobody: the model is told', async () => {
  const run = await start([
    calls([
      { name: 'ask_human', arguments: {} },
      { name: 'ask_human', arguments: { question: ' ' } },
      { name: 'ask_human', arguments: { question: 'Which?', options: 'red or blue' } },
    ]),
    text('Then not.'),
  ]);
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'Then not.' });
  expect(await results(run)).toMatchObject([
    { isError: true, text: expect.stringMatching(/give the question/) as string },
    { isError: true, text: expect.stringMatching(/give the question/) as string },
    { isError: true, text: expect.stringMatching(/options must be a list/) as string },
  ]);
});

test.each([
  ['with a default: that is the answer', { timeout: 1000, defaultAnswer: 'As you like.' }, { text: 'As you like.' }],
  [
    'without: the model is told',
    { timeout: 1000 },
    { isError: true, text: expect.stringMatching(/No answer came in time/) },
  ],
])('nobody answers in time, %s', async (_, options, result) => {
  const run = await start([calls([ask('q', 'Well?')]), text('Went on.')], options);
  expect((await waiting(run)).pending[0]?.expiresAt).toBeGreaterThan(0);
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'Went on.' });
  expect(await results(run)).toMatchObject([result]);
});

test('in time, with a time limit: the answer counts', async () => {
  const run = await start([calls([ask('q', 'Well?')]), text('Went on.')], { timeout: '1 hour', defaultAnswer: 'No.' });
  await waiting(run);
  await run.answer({ callId: 'q', text: 'Yes.' });
  expect(await run.result()).toMatchObject({ status: 'completed' });
  expect(await results(run)).toMatchObject([{ text: 'Yes.' }]);
});

test('in plan mode, in auto mode, and with no tool calls left people are asked all the same', async () => {
  const run = await start([calls([ask('a', 'One?')]), calls([ask('b', 'Two?')]), text('Done.')], undefined, {
    mode: 'plan',
    limits: { toolCalls: 1 },
  });
  await waiting(run);
  await run.answer({ callId: 'a', text: '1' });
  await run.setMode('auto');
  await waiting(run);
  await run.answer({ callId: 'b', text: '2' });
  expect(await run.result()).toMatchObject({ status: 'completed', toolCalls: 0 });
});

test('a question of a sub-agent shows at its caller, and is answered there', async () => {
  const clerk = defineAgent({ name: 'clerk', instructions: 'You ask.', model: 'gpt-5-mini', tools: [askHuman()] });
  const chief = defineAgent({
    name: 'chief',
    instructions: 'You lead.',
    model: 'gpt-5-mini',
    tools: [agentTool(clerk, { description: 'Asks.' }), askHuman()],
  });
  rig = await startRig({
    agents: [chief],
    byTask: {
      'Do it.': [calls([{ name: 'clerk', arguments: { task: 'Ask.' } }, ask('mine', 'And you?')]), text('Done.')],
      'Ask.': [calls([ask('theirs', 'Which?', ['this', 'that'])]), text('This.')],
    },
  });
  const run = await rig.start();
  const { pending } = await waiting(run, 2);
  const theirs = pending.find(({ callId }) => callId === 'theirs');
  expect(theirs).toMatchObject({ kind: 'question', args: expect.stringContaining('"this","that"') as string });
  await expect(run.approve('theirs')).rejects.toThrow(/use "answer"/);
  expect(await run.answer({ callId: 'theirs', text: 'this' })).toEqual({
    callId: 'theirs',
    state: 'passed_on',
    run: theirs?.run,
  });
  await run.answer({ callId: 'mine', text: 'me too' });
  expect(await run.result()).toMatchObject({ status: 'completed' });
  expect(await results(run)).toMatchObject([{ text: 'This.' }, { text: 'me too' }]);
  expect(await results(rig.client.handle(theirs?.run ?? ''))).toMatchObject([{ text: 'this' }]);
});
