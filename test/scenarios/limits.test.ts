/** SCENARIOS 3 to 5: limits, reached in the middle of a turn, moved while the run works, several at once; the deadline. */
import { call, calls, gate, httpError, text, type AnswerStep, type ScriptedUsage } from 'everlap/testing';
import type { AgentOptions } from 'everlap';
import { afterEach, describe, expect, test } from 'vitest';
import { linesOf, validMessages } from '../support/conversation.js';
import { heldTool } from '../support/held-tool.js';
import { eventually, startRig, type Rig } from '../support/rig.js';

let rig: Rig;
afterEach(() => rig.stop());

const MUCH: ScriptedUsage = { prompt_tokens: 900, completion_tokens: 200 };
/** With the prices below. */
const DEAR: ScriptedUsage = { prompt_tokens: 900, completion_tokens: 200 };
const PRICES = { prices: { 'gpt-5-mini': { input: 250, output: 250 } } };
const work = (name: string, options: Partial<AnswerStep> = {}): AnswerStep => call('work', { name }, options);

/** Every limit that a first answer with one call can reach, and what lifts it. */
const REACHED: readonly (readonly [string, NonNullable<AgentOptions['limits']>, ScriptedUsage, object])[] = [
  ['max_turns', { turns: 1 }, MUCH, { turns: 5 }],
  ['max_tokens', { tokens: 1000 }, MUCH, { tokens: 100_000 }],
  ['max_cost', { usd: 0.2 }, DEAR, { usd: 100 }],
  ['max_tool_calls', { toolCalls: 1 }, MUCH, { toolCalls: 5 }],
];

describe('reached in the middle of a turn', () => {
  test.each(REACHED)('%s: the turn ends in order, no further model call', async (reason, limits, usage) => {
    const { tool, ran } = heldTool({ free: ['a'] });
    rig = await startRig({
      worker: PRICES,
      agent: { tools: [tool], limits },
      script: [work('a', { usage, text: 'On it.' })],
    });
    const run = await rig.start();
    expect(await run.result()).toMatchObject({ status: 'exhausted', reason, output: null, turns: 1, toolCalls: 1 });
    expect(ran).toEqual(['a']);
    expect((await validMessages(run)).at(-1)).toMatchObject({ role: 'tool', text: 'a is done' });
    expect(rig.model.requests).toHaveLength(1);
    expect((await run.temporal.describe()).status.name).toBe('COMPLETED');
  });

  test.each(REACHED)(
    '%s, and lifted by setLimits before the turn ends: the run goes on',
    async (_, limits, usage, more) => {
      const held = heldTool();
      rig = await startRig({
        worker: PRICES,
        agent: { tools: [held.tool], limits },
        script: [work('a', { usage }), text('Done.', { usage: MUCH })],
      });
      const run = await rig.start();
      await held.gate.reached;
      const [[name, left] = []] = Object.entries((await run.state()).limits).filter(([field]) => field in limits);
      expect(left, name).toMatchObject({ left: 0 });
      expect(await run.setLimits(more)).toMatchObject({ [name ?? '']: { limit: Object.values(more)[0] as number } });
      held.gate.open();
      expect(await run.result()).toMatchObject({ status: 'completed', output: 'Done.', turns: 2 });
    },
  );

  test.each(REACHED)(
    '%s with onLimit summarize: one call with tools off; the status stays',
    async (reason, limits, usage) => {
      const { tool } = heldTool({ free: ['a'] });
      rig = await startRig({
        worker: PRICES,
        agent: { tools: [tool], limits, onLimit: 'summarize' },
        script: [work('a', { usage }), text('So far: a.')],
      });
      const run = await rig.start();
      expect(await run.result()).toMatchObject({ status: 'exhausted', reason, output: 'So far: a.' });
      expect(rig.model.requests[1]?.body).toMatchObject({ tool_choice: 'none' });
      await validMessages(run);
    },
  );

  test('a summary that the provider puts off for an hour: the run ends soon, without one; no other model is asked', async () => {
    const { tool } = heldTool({ free: ['a'] });
    rig = await startRig({
      agent: { tools: [tool], limits: { turns: 1 }, onLimit: 'summarize', fallbackModels: ['gpt-5'] },
      script: [work('a'), httpError(429, { headers: { 'retry-after': '3600' } })],
    });
    const run = await rig.start();
    expect(await run.result()).toMatchObject({ status: 'exhausted', reason: 'max_turns', output: null });
    expect(rig.model.requests).toHaveLength(2);
    await validMessages(run);
  });

  test('a summary that fails twice is not tried again', async () => {
    const { tool } = heldTool({ free: ['a'] });
    rig = await startRig({
      agent: { tools: [tool], limits: { turns: 1 }, onLimit: 'summarize', fallbackModels: ['gpt-5'] },
      script: [work('a'), httpError(503), httpError(503)],
    });
    const run = await rig.start();
    expect(await run.result()).toMatchObject({ status: 'exhausted', reason: 'max_turns', output: null });
    expect(rig.model.requests).toHaveLength(3);
  });

  test('an empty summary does not get into the conversation', async () => {
    const { tool } = heldTool({ free: ['a'] });
    rig = await startRig({
      agent: { tools: [tool], limits: { turns: 1 }, onLimit: 'summarize' },
      script: [work('a'), text(' ')],
    });
    const run = await rig.start();
    expect(await run.result()).toMatchObject({ status: 'exhausted', output: null });
    expect((await validMessages(run)).at(-1)).toMatchObject({ role: 'user', kind: 'notice' });
  });

  test.each(REACHED.filter(([reason]) => reason !== 'max_tool_calls'))(
    '%s by the answer itself: it is the answer',
    async (_, limits, usage) => {
      rig = await startRig({ worker: PRICES, agent: { limits }, script: [text('Done.', { usage })] });
      const run = await rig.start();
      expect(await run.result()).toMatchObject({ status: 'completed', output: 'Done.' });
    },
  );
});

test('the tool-call limit in the middle of parallel calls: so many run, each of the others has a result that says why', async () => {
  const names = ['a', 'b', 'c', 'd'];
  const { tool, ran } = heldTool({ free: names });
  rig = await startRig({
    agent: { tools: [tool], limits: { toolCalls: 2 } },
    script: [calls(names.map((name) => ({ name: 'work', arguments: { name } })))],
  });
  const run = await rig.start();
  expect(await run.result()).toMatchObject({ reason: 'max_tool_calls', toolCalls: 2 });
  expect(ran.sort()).toEqual(['a', 'b']);
  expect((await validMessages(run)).slice(-4).map((message) => message.text)).toEqual([
    'a is done',
    'b is done',
    expect.stringMatching(/not run.*limit of tool calls/i),
    expect.stringMatching(/not run.*limit of tool calls/i),
  ]);
});

test('refused calls use up no tool call', async () => {
  const { tool } = heldTool({ free: ['a'] });
  rig = await startRig({
    agent: { tools: [tool], limits: { toolCalls: 1 } },
    script: [
      calls([
        { name: 'nothing', arguments: {} },
        { name: 'work', arguments: '{"name":' },
      ]),
      work('a'),
    ],
  });
  const run = await rig.start();
  expect(await run.result()).toMatchObject({ reason: 'max_tool_calls', toolCalls: 1, turns: 2 });
});

describe('setLimits', () => {
  test('below what is used: the turn ends in order', async () => {
    const held = heldTool();
    rig = await startRig({ agent: { tools: [held.tool] }, script: [work('a', { usage: MUCH })] });
    const run = await rig.start();
    await held.gate.reached;
    expect(await run.setLimits({ turns: 1, tokens: 10 })).toEqual({
      turns: { limit: 1, left: 0 },
      tokens: { limit: 10, left: 0 },
    });
    held.gate.open();
    expect(await run.result()).toMatchObject({ status: 'exhausted', reason: 'max_turns', toolCalls: 1 });
  });

  test.each(['update', 'signal'] as const)('by %s, of one limit leaves the others', async (door) => {
    const held = gate();
    rig = await startRig({
      agent: { limits: { turns: 7, tokens: 100_000 } },
      script: [text('Done.', { waitFor: held })],
    });
    const run = await rig.start({ settings: { limits: { tokens: 50_000, toolCalls: 9 } } });
    await held.reached;
    if (door === 'update') await run.setLimits({ turns: 8 });
    else await run.temporal.signal('setLimits', { turns: 8 });
    await eventually(async () => (await run.state()).limits['turns']?.limit === 8);
    expect((await run.state()).limits).toEqual({
      turns: { limit: 8, left: 8 },
      tokens: { limit: 50_000, left: 50_000 },
      toolCalls: { limit: 9, left: 9 },
    });
    held.open();
    await run.result();
  });

  test('before the first turn goes before the agent and its settings', async () => {
    const { tool } = heldTool({ free: ['0', '1', '2', '3'] });
    rig = await startRig({
      startWorker: false,
      agent: { tools: [tool], limits: { turns: 3 } },
      script: (_, turn) => work(String(turn)),
    });
    const run = await rig.start({ settings: { limits: { turns: 4 } } });
    await run.temporal.signal('setLimits', { turns: 2 });
    await rig.startWorker();
    expect(await run.result()).toMatchObject({ reason: 'max_turns', turns: 2 });
  });
});

describe('usd without a known price', () => {
  const agent = { model: 'of-my-own' } as const;

  test('in the definition: refused at the start, with a sentence', async () => {
    rig = await startRig({ agent: { ...agent, limits: { usd: 1 } }, script: [] });
    const result = await (await rig.start()).result();
    expect(result).toMatchObject({ status: 'failed', reason: 'bad_request', turns: 0 });
    expect(result.error).toMatch(/price of of-my-own is not known/);
  });

  test('by setLimits: refused, as what could not be kept', async () => {
    const held = gate();
    rig = await startRig({ startWorker: false, agent, script: [text('Done.', { waitFor: held })] });
    const run = await rig.start();
    const early = run.setLimits({ usd: 1 });
    early.catch(() => undefined);
    await rig.startWorker();
    await expect(early).rejects.toMatchObject({ name: 'RunArgumentError' });
    await held.reached;
    await expect(run.setLimits({ usd: 1 })).rejects.toThrow(/price of of-my-own is not known/);
    await run.temporal.signal('setLimits', { usd: 1, turns: 3 });
    await eventually(async () => /signal setLimits was ignored/.test((await run.state()).lastError ?? ''));
    expect((await run.state()).limits).toEqual({ turns: { limit: 100, left: 100 } });
    held.open();
    expect(await run.result()).toMatchObject({ status: 'completed', costUsd: null });
  });
});

describe('looked at before the call', () => {
  const capOf = (index: number): unknown => {
    const body = rig.model.requests[index]?.body ?? {};
    return 'max_completion_tokens' in body ? body['max_completion_tokens'] : body['max_tokens' as never];
  };

  test.each([
    ['tokens', { tokens: 100 }, 'max_tokens'],
    ['usd', { usd: 0.0001 }, 'max_cost'],
  ] as const)('%s: a call whose estimated input alone would pass the limit is not made', async (_, limits, reason) => {
    rig = await startRig({ agent: { limits }, script: [] });
    const run = await rig.start({ task: 'A long task. '.repeat(500) });
    expect(await run.result()).toMatchObject({ status: 'exhausted', reason, output: null, turns: 0 });
    expect(rig.model.requests).toHaveLength(0);
  });

  test('tokens: the answer is capped to what is left, from call to call', async () => {
    const { tool } = heldTool({ free: ['a'] });
    rig = await startRig({
      agent: { tools: [tool], limits: { tokens: 5000 } },
      script: [work('a', { usage: { prompt_tokens: 200, completion_tokens: 1800 } }), text('Done.')],
    });
    await (await rig.start()).result();
    expect(capOf(0)).toBeGreaterThan(4000);
    expect(capOf(0)).toBeLessThan(5000);
    expect(capOf(1)).toBeGreaterThan(0);
    // 2,000 tokens are used, and the next input has at least the 2,000 of the one before.
    expect(capOf(1)).toBeLessThan(1000);
  });

  test('usd: the answer is capped to what is left of the money', async () => {
    rig = await startRig({ agent: { limits: { usd: 0.002 } }, script: [text('Done.')] });
    await (await rig.start()).result();
    expect(capOf(0)).toBeGreaterThan(900);
    expect(capOf(0)).toBeLessThanOrEqual(1000);
  });

  test('the smallest cap counts; without a limit there is none', async () => {
    rig = await startRig({
      agent: { model: { name: 'gpt-5-mini', maxOutputTokens: 300 }, limits: { tokens: 100_000 } },
      script: [text('Done.'), text('Done.')],
    });
    await (await rig.start()).result();
    expect(capOf(0)).toBe(300);
    await (await rig.start({ settings: { model: 'gpt-4o', limits: { turns: 1 } } })).result();
    expect(capOf(1)).toBe(300);
  });
});

test('usage that is never told: an estimate counts, marked as such', async () => {
  const names = ['a', 'b', 'c', 'd'];
  const { tool } = heldTool({ free: names });
  rig = await startRig({
    agent: { tools: [tool], limits: { tokens: 600 } },
    script: (_, turn) => work(names[turn] ?? 'd', { usage: 'absent', text: 'Some words about it. '.repeat(10) }),
  });
  const result = await (await rig.start()).result();
  expect(result).toMatchObject({ status: 'exhausted', reason: 'max_tokens', usage: { estimated: true } });
  expect(result.usage.input).toBeGreaterThan(0);
  expect(result.usage.output).toBeGreaterThan(50);
  expect(result.costUsd).toBeGreaterThan(0);
});

test('several limits reached at once: the deadline is named first, then turns, tokens, cost, tool calls', async () => {
  const held = heldTool();
  rig = await startRig({
    worker: PRICES,
    agent: { tools: [held.tool], limits: { turns: 1, tokens: 1000, usd: 0.2, toolCalls: 1 } },
    script: [work('a', { usage: DEAR })],
  });
  const run = await rig.start();
  await held.gate.reached;
  await run.setLimits({ turns: 9 });
  held.gate.open();
  expect(await run.result()).toMatchObject({ status: 'exhausted', reason: 'max_tokens' });
});

describe('the deadline', () => {
  test('during a ten-minute tool: the tool is cancelled, the conversation is valid', async () => {
    const held = heldTool({ timeout: '10 minutes', free: ['b'] });
    rig = await startRig({
      agent: { tools: [held.tool], limits: { duration: '3 seconds' } },
      script: [calls(['a', 'b'].map((name) => ({ name: 'work', arguments: { name } })))],
    });
    const run = await rig.start();
    expect(await run.result()).toMatchObject({ status: 'exhausted', reason: 'deadline', output: null, turns: 1 });
    await eventually(async () => held.aborted.length > 0, 'the tool saw its signal');
    expect(held.aborted).toEqual(['a']);
    const messages = await validMessages(run);
    expect(messages.at(-2)).toMatchObject({
      role: 'tool',
      isError: true,
      text: expect.stringContaining('deadline') as string,
    });
    expect(messages.at(-1)).toMatchObject({ role: 'tool', text: 'b is done' });
  });

  test('while the model answers: its connection is closed, nothing of the answer is taken', async () => {
    const held = gate();
    rig = await startRig({ script: [text('Never to be seen.', { holdAfter: { chunks: 1, until: held } })] });
    const run = await rig.start();
    await held.reached;
    await run.setLimits({ duration: 1 });
    expect(await run.result()).toMatchObject({ status: 'exhausted', reason: 'deadline', output: null, turns: 0 });
    expect((await rig.model.waitForClosed(0)).closed).toBe('by client');
    expect(await validMessages(run)).toHaveLength(1);
  });

  test('in a long wait for a retry', async () => {
    rig = await startRig({ script: [httpError(429, { headers: { 'retry-after': '3600' } })] });
    const run = await rig.start();
    await rig.model.waitForClosed(0);
    await run.setLimits({ duration: 1 });
    expect(await run.result()).toMatchObject({ status: 'exhausted', reason: 'deadline', turns: 0 });
  });

  test('moved to later while a tool runs: the first one does nothing', async () => {
    const held = heldTool();
    rig = await startRig({
      agent: { tools: [held.tool], limits: { duration: '4 seconds' } },
      script: [work('a'), text('Done.')],
    });
    const started = Date.now();
    const run = await rig.start();
    await held.gate.reached;
    await run.setLimits({ duration: '1 hour' });
    await eventually(async () => Date.now() - started > 4500, 'the first deadline to pass');
    expect(held.aborted).toEqual([]);
    held.gate.open();
    expect(await run.result()).toMatchObject({ status: 'completed', output: 'Done.' });
  });

  test('set, moved to later, and to earlier again while a tool runs', async () => {
    const held = heldTool();
    rig = await startRig({ agent: { tools: [held.tool] }, script: [work('a')] });
    const run = await rig.start();
    await held.gate.reached;
    await run.setLimits({ duration: '1 hour' });
    await run.setLimits({ duration: '99 years' });
    expect((await run.state()).limits['durationMs']?.limit).toBeGreaterThan(3e12);
    await run.setLimits({ duration: 2 });
    expect(await run.result()).toMatchObject({ status: 'exhausted', reason: 'deadline' });
    await validMessages(run);
  });

  test('with the worker down over it, in the middle of a tool: the same, late', async () => {
    const held = heldTool();
    rig = await startRig({ startWorker: false, agent: { tools: [held.tool] }, script: [work('a')] });
    const worker = await rig.startWorker();
    const started = Date.now();
    const run = await rig.start();
    await held.gate.reached;
    const duration = Date.now() - started + 2500;
    await run.setLimits({ duration });
    await worker.stop();
    await eventually(async () => Date.now() > started + duration + 500, 'the deadline to pass');
    await rig.startWorker();
    expect(await run.result()).toMatchObject({ status: 'exhausted', reason: 'deadline', turns: 1 });
    await validMessages(run);
    expect(rig.model.requests).toHaveLength(1);
  });

  test('counts from the start, also where the first worker comes after it: no model call', async () => {
    rig = await startRig({ startWorker: false, agent: { limits: { duration: '1 second' } }, script: [] });
    const started = Date.now();
    const run = await rig.start();
    await eventually(async () => Date.now() > started + 1500, 'the deadline to pass');
    await rig.startWorker();
    expect(await run.result()).toMatchObject({ status: 'exhausted', reason: 'deadline', turns: 0 });
    expect(rig.model.requests).toHaveLength(0);
  });

  test('counts from the end of a start delay', async () => {
    rig = await startRig({ agent: { limits: { duration: '4 seconds' } }, script: [text('Done.')] });
    const run = await rig.start({ workflow: { startDelay: '4 seconds' } });
    expect(await run.result()).toMatchObject({ status: 'completed', output: 'Done.' });
  });

  test('with onLimit summarize: the summary comes after it', async () => {
    const held = heldTool();
    rig = await startRig({
      agent: { tools: [held.tool], onLimit: 'summarize' },
      script: [work('a'), text('Not finished: a.')],
    });
    const run = await rig.start();
    await held.gate.reached;
    await run.setLimits({ duration: 1 });
    expect(await run.result()).toMatchObject({ status: 'exhausted', reason: 'deadline', output: 'Not finished: a.' });
    expect(linesOf(rig.model.requests[1]).at(-1)).toMatch(/^user: This run ends here/);
    await validMessages(run);
  });
});

describe('while an exhausted run sums up', () => {
  async function summing() {
    const { tool } = heldTool({ free: ['a'] });
    const held = gate();
    rig = await startRig({
      agent: { tools: [tool], limits: { turns: 1 }, onLimit: 'summarize' },
      script: [work('a'), text('So far: a.', { waitFor: held })],
    });
    const run = await rig.start();
    await held.reached;
    return { run, held };
  }

  test('the end is decided: updates are refused, signals are in the result, the state says so', async () => {
    const { run, held } = await summing();
    await expect(run.steer('Go on!')).rejects.toMatchObject({ name: 'RunEndedError' });
    await expect(run.setLimits({ turns: 5 })).rejects.toMatchObject({ name: 'RunEndedError' });
    await expect(run.pause()).rejects.toMatchObject({ name: 'RunEndedError' });
    await run.temporal.signal('steer', 'Go on!');
    await run.temporal.signal('pause');
    expect(await run.state()).toMatchObject({ status: 'exhausted', reason: 'max_turns', phase: 'model' });
    held.open();
    expect(await run.result()).toMatchObject({
      status: 'exhausted',
      output: 'So far: a.',
      unconsumedSteering: [{ kind: 'steer', text: 'Go on!' }],
    });
  });

  test('cancel: cancelled, the connection is closed', async () => {
    const { run } = await summing();
    await run.cancel();
    expect(await run.result()).toMatchObject({ status: 'cancelled', reason: 'cancelled', output: null });
    expect((await rig.model.waitForClosed(1)).closed).toBe('by client');
    await validMessages(run);
  });

  test.each([
    ['fails', httpError(401)],
    ['calls a tool all the same', work('b')],
    ['says nothing', text('')],
  ])('a summary that %s changes nothing of the end', async (_, step) => {
    const { tool, ran } = heldTool({ free: ['a', 'b'] });
    rig = await startRig({
      agent: { tools: [tool], limits: { turns: 1 }, onLimit: 'summarize' },
      script: [work('a'), step],
    });
    const run = await rig.start();
    expect(await run.result()).toMatchObject({ status: 'exhausted', reason: 'max_turns', output: null });
    expect(ran).toEqual(['a']);
    await validMessages(run);
  });
});
