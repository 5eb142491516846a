/** Answers in a form that come as calls of `final_answer`: beside other calls, wrong, cut, and with somebody who speaks in between. */
import { defineAgent, defineTool, handoffTo } from 'everlap';
import { finishTool } from 'everlap/tools';
import { call, calls, gate, text, type ScriptedCall, type Script } from 'everlap/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { eventually, startRig, type Rig } from '../support/rig.js';

const held = { steered: gate(), finished: gate(), late: gate() };

const expert = defineAgent({ name: 'expert', instructions: 'You know.', model: 'gpt-5-mini' });
const finisher = defineAgent({
  name: 'finisher',
  instructions: 'You end.',
  model: 'gpt-5-mini',
  tools: [finishTool()],
});
const judge = defineAgent({
  name: 'judge',
  instructions: 'You judge invoices.',
  model: 'gpt-5-mini',
  tools: [
    defineTool({
      name: 'read_invoice',
      description: 'Reads one invoice.',
      input: z.object({ number: z.string() }),
      effects: 'none',
      execute: ({ number }) => `Invoice ${number}: 12.50`,
    }),
    handoffTo(expert),
    handoffTo(finisher),
  ],
  output: z.object({ ok: z.boolean(), cents: z.number().int() }),
});

const GOOD = { ok: true, cents: 1250 };
const final = (args: ScriptedCall['arguments']): ScriptedCall => ({ name: 'final_answer', arguments: args });
const read: ScriptedCall = { name: 'read_invoice', arguments: { number: '17' } };
const scripts: Record<string, Script> = {
  'right at once': [call('final_answer', GOOD)],
  'as text all the same': [text(JSON.stringify(GOOD))],
  'wrong, then right': [call('final_answer', { ok: 'yes' }), call('final_answer', GOOD)],
  'no JSON, no object, nothing': ['{"ok":', '[]', '']
    .map((args) => call('final_answer', args))
    .concat(call('final_answer', GOOD)),
  'never right': Array.from({ length: 4 }, () => call('final_answer', { ok: 1 })),
  'in words and by calls, never right': [
    text('Fine.'),
    call('final_answer', {}),
    text('Good.'),
    call('final_answer', {}),
  ],
  'beside another call': [calls([final(GOOD), read])],
  'wrong beside another call': [calls([read, final({})]), call('final_answer', GOOD)],
  'three times in one answer': [calls([final({}), final(GOOD), final({ ok: false, cents: 1 })])],
  'cut off': [call('final_answer', GOOD, { finish: 'length' }), call('final_answer', GOOD)],
  steered: [call('final_answer', GOOD, { waitFor: held.steered }), call('final_answer', { ok: false, cents: 2 })],
  'followed up': [call('final_answer', GOOD), call('final_answer', { ok: false, cents: 3 })],
  'told to finish': [calls([read, final(GOOD)], { waitFor: held.finished })],
  'paused over its deadline': [call('final_answer', GOOD, { waitFor: held.late })],
  'beside a handoff': [
    calls([final(GOOD), { name: 'handoff_to_expert', arguments: {} }]),
    text('I am the expert.'),
    call('final_answer', GOOD),
  ],
  'to one that ends by a tool': [call('handoff_to_finisher'), call('final_answer', GOOD)],
};

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ byTask: scripts, agents: [judge, expert] });
});
afterAll(() => rig.stop());

const start = (task: string, settings = {}) => rig.client.start({ agent: judge, task, settings });
const play = async (task: string, settings = {}) => {
  const run = await start(task, settings);
  const result = await run.result();
  const messages = await run.messages();
  const results = messages.flatMap((message) => (message.role === 'tool' ? [message.text] : []));
  return { result, messages, results };
};

describe.concurrent('an answer given by a call', () => {
  test('ends the run, and is typed', async () => {
    const { result, results } = await play('right at once', { limits: { turns: 1 } });
    expect(result).toMatchObject({ status: 'completed', reason: 'answered', output: GOOD, turns: 1, toolCalls: 0 });
    expect(results).toEqual(['Taken as the final answer.']);
  });

  test('may be a text that fits', async () => {
    expect((await play('as text all the same')).result).toMatchObject({ status: 'completed', output: GOOD, turns: 1 });
  });

  test('has what is wrong as its result', async () => {
    const { result, messages, results } = await play('wrong, then right');
    expect(result).toMatchObject({ status: 'completed', output: GOOD, turns: 2 });
    expect(results[0]).toMatch(
      /^Error: your answer was not taken\.\n.*expected boolean[\s\S]*cents[\s\S]*final_answer again/,
    );
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool']);
  });

  test('has to be an object that fits', async () => {
    const { result, results } = await play('no JSON, no object, nothing');
    expect(result).toMatchObject({ status: 'completed', output: GOOD, turns: 4 });
    expect(results).toEqual([
      expect.stringContaining('no JSON object'),
      expect.stringContaining('no JSON object'),
      expect.stringMatching(/ok[\s\S]*cents/),
      'Taken as the final answer.',
    ]);
  });

  test('is asked for three times more, in whatever way it comes, and not taken for stuck', async () => {
    for (const task of ['never right', 'in words and by calls, never right']) {
      const { result } = await play(task, { stuckWindow: 2 });
      expect(result).toMatchObject({ status: 'failed', reason: 'invalid_output', output: null, turns: 4 });
    }
  });

  test('waits for the other calls of its turn, and each has its result', async () => {
    const { result, results } = await play('beside another call');
    expect(result).toMatchObject({ status: 'completed', reason: 'answered', output: GOOD, turns: 1, toolCalls: 1 });
    expect(results).toEqual(['Taken as the final answer.', 'Invoice 17: 12.50']);
    const second = await play('wrong beside another call');
    expect(second.result).toMatchObject({ status: 'completed', output: GOOD, turns: 2 });
    expect(second.results).toEqual([
      'Invoice 17: 12.50',
      expect.stringContaining('not taken'),
      'Taken as the final answer.',
    ]);
  });

  test('counts once: the first that is right', async () => {
    const { result, results } = await play('three times in one answer');
    expect(result).toMatchObject({ status: 'completed', output: GOOD });
    expect(results).toEqual([
      expect.stringContaining('Error: your answer was not taken'),
      'Taken as the final answer.',
      expect.stringContaining('given already'),
    ]);
  });

  test('is not taken where the length limit cut it off, even where it parses', async () => {
    const { result, results } = await play('cut off');
    expect(result).toMatchObject({ status: 'completed', output: GOOD, turns: 2 });
    expect(results[0]).toContain('cut off');
  });

  test('gives way to steering that came while it was made, and to follow-ups', async () => {
    const run = await start('steered', { limits: { turns: 1 } });
    await held.steered.reached;
    await run.steer('Look again.');
    held.steered.open();
    expect(await run.result()).toMatchObject({ status: 'completed', output: { ok: false, cents: 2 }, turns: 2 });
    const roles = (await run.messages()).map(({ role, text: words }) => (role === 'user' ? words : role));
    expect(roles).toEqual(['steered', 'assistant', 'tool', '[STEERING] Look again.', 'assistant', 'tool']);

    const followed = await rig.temporal.workflow.signalWithStart('agentRun', {
      taskQueue: rig.taskQueue,
      workflowId: `${rig.taskQueue}-followed`,
      args: [{ agent: 'judge', task: 'followed up' }],
      signal: 'followUp',
      signalArgs: ['And now?'],
    });
    expect(await followed.result()).toMatchObject({ output: '{"ok":false,"cents":3}', turns: 2 });
  });

  test('is the output of a run that was told to finish then; no other call of it runs', async () => {
    const run = await start('told to finish');
    await held.finished.reached;
    await run.forceFinish();
    held.finished.open();
    expect(await run.result()).toMatchObject({
      status: 'stopped',
      reason: 'force_finished',
      output: JSON.stringify(GOOD),
      toolCalls: 0,
    });
    const results = (await run.messages()).filter(({ role }) => role === 'tool');
    expect(results.map(({ text: words }) => words)).toEqual(Array(2).fill(expect.stringContaining('told to finish')));
  });

  test('is not thrown away for a deadline that passes when it is there', async () => {
    const run = await start('paused over its deadline');
    await held.late.reached;
    const paused = run.pause();
    held.late.open();
    await paused;
    await eventually(async () => (await run.state()).status === 'paused', 'the pause');
    await run.setLimits({ duration: '1 millisecond' });
    expect(await run.result()).toMatchObject({ status: 'completed', reason: 'answered', output: GOOD });
  });

  test('is not taken from an agent that hands the conversation over with it', async () => {
    const { result, results } = await play('beside a handoff');
    expect(results.slice(0, 2)).toEqual([
      'Not taken: the conversation goes over to expert.',
      'The conversation goes over to expert.',
    ]);
    expect(result).toMatchObject({ status: 'completed', output: GOOD, turns: 3, reason: 'answered' });
    expect(results).toHaveLength(3);
  });

  test('is asked of whoever has the conversation last, and an agent that ends in another way does not get it', async () => {
    const { result, results } = await play('to one that ends by a tool');
    expect(results[0]).toMatch(/stays with you.*finish, which ends the run/);
    expect(result).toMatchObject({ status: 'completed', output: GOOD, turns: 2 });
  });
});
