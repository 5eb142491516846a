/** SCENARIOS 12, 13, 15: force-finish, pause and resume; what every message does with arguments that are none. */
import type { RunHandle } from 'everlap/client';
import { call, calls, gate, httpError, text } from 'everlap/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { linesOf, validMessages } from '../support/conversation.js';
import { heldTool } from '../support/held-tool.js';
import { eventually, startRig, type Rig } from '../support/rig.js';

let rig: Rig;
afterEach(() => rig.stop());

type Control = 'pause' | 'resume' | 'forceFinish';
/** Both doors; the signal is done when the state shows that it came. */
const DOORS = {
  update: (run: RunHandle, name: Control): Promise<unknown> => run[name](),
  signal: (run: RunHandle, name: Control): Promise<unknown> => run.temporal.signal(name),
} as const;
const BOTH = Object.keys(DOORS) as (keyof typeof DOORS)[];

async function isStatus(run: RunHandle, status: string): Promise<void> {
  await eventually(async () => (await run.state()).status === status, `status ${status}`);
}

describe('forceFinish', () => {
  test.each(BOTH)('by %s before the first turn: no model call', async (door) => {
    rig = await startRig({ startWorker: false, script: [] });
    const run = await rig.start();
    const sent = DOORS[door](run, 'forceFinish');
    if (door === 'signal') await sent;
    await rig.startWorker();
    expect(await run.result()).toMatchObject({ status: 'stopped', reason: 'force_finished', output: null, turns: 0 });
    await sent.catch((error: unknown) => expect(error).toMatchObject({ name: 'RunEndedError' }));
    expect(rig.model.requests).toHaveLength(0);
    expect((await run.temporal.describe()).status.name).toBe('COMPLETED');
  });

  test.each(BOTH)(
    'by %s between model and tools: no tool runs, every call has a result that says why',
    async (door) => {
      const held = gate();
      const work = heldTool({ free: ['a', 'b'] });
      rig = await startRig({
        agent: { tools: [work.tool] },
        script: [
          calls(
            [
              { name: 'work', arguments: { name: 'a' } },
              { name: 'work', arguments: { name: 'b' } },
            ],
            { text: 'Looking.', waitFor: held },
          ),
        ],
      });
      const run = await rig.start();
      await held.reached;
      await DOORS[door](run, 'forceFinish');
      held.open();
      expect(await run.result()).toMatchObject({
        status: 'stopped',
        reason: 'force_finished',
        output: 'Looking.',
        turns: 1,
        toolCalls: 0,
      });
      expect(work.ran).toEqual([]);
      const messages = await validMessages(run);
      expect(messages.slice(-2)).toMatchObject([
        { role: 'tool', isError: true, text: expect.stringMatching(/not run.*told to finish/i) as string },
        { role: 'tool', isError: true },
      ]);
    },
  );

  test('during one of three parallel tools: three results, no further model call', async () => {
    const work = heldTool({ free: ['a', 'c'] });
    rig = await startRig({
      agent: { tools: [work.tool] },
      script: [calls(['a', 'b', 'c'].map((name) => ({ name: 'work', arguments: { name } })))],
    });
    const run = await rig.start();
    await work.gate.reached;
    expect(await run.forceFinish({ reason: 'enough', output: 'By hand.' })).toMatchObject({
      status: 'running',
      phase: 'tools',
      turn: 1,
    });
    work.gate.open();
    expect(await run.result()).toMatchObject({ reason: 'force_finished', output: 'By hand.', toolCalls: 3 });
    expect((await validMessages(run)).slice(-3).map((message) => message.text)).toEqual([
      'a is done',
      'b is done',
      'c is done',
    ]);
    expect(rig.model.requests).toHaveLength(1);
  });

  test('between serial tools: those that have not begun are not run', async () => {
    const work = heldTool({ concurrency: 'serial' });
    rig = await startRig({
      agent: { tools: [work.tool] },
      script: [calls(['a', 'b'].map((name) => ({ name: 'work', arguments: { name } })))],
    });
    const run = await rig.start();
    await work.gate.reached;
    await run.forceFinish();
    work.gate.open();
    expect(await run.result()).toMatchObject({ reason: 'force_finished', toolCalls: 1 });
    expect(work.ran).toEqual(['a']);
    await validMessages(run);
  });

  test('while the final text is made: that text is the output; the first force-finish counts', async () => {
    const held = gate();
    rig = await startRig({ script: [text('Nearly.', { waitFor: held })] });
    const run = await rig.start();
    await held.reached;
    await run.forceFinish();
    await run.forceFinish({ output: 'Too late.' });
    await run.steer('One more thing.');
    held.open();
    expect(await run.result()).toMatchObject({
      status: 'stopped',
      output: 'Nearly.',
      unconsumedSteering: [{ kind: 'steer', text: 'One more thing.' }],
    });
  });

  test('ends the retries at the fallback, not later', async () => {
    const held = gate();
    rig = await startRig({
      agent: { model: { name: 'gpt-5-mini', attempts: 1 }, fallbackModels: ['gpt-4.1-mini'] },
      script: [httpError(503, { waitFor: held })],
    });
    const run = await rig.start();
    await held.reached;
    await run.forceFinish();
    held.open();
    expect(await run.result()).toMatchObject({ status: 'stopped', reason: 'force_finished', turns: 0 });
  });
});

describe('pause', () => {
  test.each(BOTH)(
    'by %s while a model call runs: at the safe point, and on without a further message',
    async (door) => {
      const held = gate();
      const work = heldTool({ free: ['a'] });
      rig = await startRig({
        agent: { tools: [work.tool] },
        script: [call('work', { name: 'a' }, { waitFor: held }), text('Done.')],
      });
      const run = await rig.start();
      await held.reached;
      let paused = false;
      const pausing = DOORS[door](run, 'pause').then((answer) => {
        paused = true;
        return answer;
      });
      if (door === 'signal') await pausing;
      expect(await run.state()).toMatchObject({ status: 'running', phase: 'model' });
      if (door === 'update') expect(paused).toBe(false);
      held.open();
      const answer = await pausing;
      if (door === 'update') expect(answer).toEqual({ status: 'paused', phase: 'paused', lap: 1, turn: 1 });
      await isStatus(run, 'paused');
      expect(work.ran).toEqual([]);
      expect(await run.steer('While you stand still.')).toEqual({ position: 1, turn: 2 });
      await DOORS[door](run, 'resume');
      expect(await run.result()).toMatchObject({ status: 'completed', output: 'Done.' });
      expect(linesOf(rig.model.requests[1])).toEqual([
        'user: Do it.',
        'assistant: work',
        'tool: a is done',
        'user: [STEERING] While you stand still.',
      ]);
    },
  );

  test('twice; resume of a run that does not pause; resume before the safe point takes the pause back', async () => {
    const [one, two] = [gate(), gate()];
    const work = heldTool({ free: ['a'] });
    rig = await startRig({
      agent: { tools: [work.tool] },
      script: [call('work', { name: 'a' }, { waitFor: one }), text('Done.', { waitFor: two })],
    });
    const run = await rig.start();
    await one.reached;
    expect(await run.resume()).toMatchObject({ status: 'running', phase: 'model' });
    const early = run.pause();
    await eventually(async () => (await run.temporal.query<unknown>('state')) !== undefined);
    await run.resume();
    expect(await early).toMatchObject({ status: 'running' });
    const both = Promise.all([run.pause(), run.pause()]);
    one.open();
    expect(await both).toMatchObject([{ status: 'paused' }, { status: 'paused' }]);
    expect(await run.pause()).toMatchObject({ status: 'paused' });
    expect(await run.resume()).toMatchObject({ status: 'running' });
    await two.reached;
    two.open();
    expect(await run.result()).toMatchObject({ status: 'completed', output: 'Done.' });
  });

  test('a resume and a pause in one go: the run stands', async () => {
    const held = gate();
    rig = await startRig({ startWorker: false, script: [text('Done.', { waitFor: held })] });
    const worker = await rig.startWorker();
    const run = await rig.start();
    await held.reached;
    const pausing = run.pause();
    held.open();
    await pausing;
    await worker.stop();
    await run.temporal.signal('resume');
    await run.temporal.signal('pause');
    await rig.startWorker();
    await isStatus(run, 'paused');
    await run.resume();
    expect(await run.result()).toMatchObject({ output: 'Done.' });
  });

  test('before the first turn: no model call until it is resumed', async () => {
    rig = await startRig({ startWorker: false, script: [text('Done.')] });
    const run = await rig.start();
    const pausing = run.pause();
    await rig.startWorker();
    expect(await pausing).toEqual({ status: 'paused', phase: 'paused', lap: 1, turn: 0 });
    expect(rig.model.requests).toHaveLength(0);
    await run.resume();
    expect(await run.result()).toMatchObject({ output: 'Done.' });
  });

  test('in the middle of serial tools: the second one waits', async () => {
    const work = heldTool({ concurrency: 'serial' });
    rig = await startRig({
      agent: { tools: [work.tool] },
      script: [calls(['a', 'b'].map((name) => ({ name: 'work', arguments: { name } }))), text('Done.')],
    });
    const run = await rig.start();
    await work.gate.reached;
    const pausing = run.pause();
    await eventually(async () => (await run.temporal.query<unknown>('state')) !== undefined);
    work.gate.open();
    expect(await pausing).toMatchObject({ status: 'paused', turn: 1 });
    expect(work.ran).toEqual(['a']);
    await run.resume();
    expect(await run.result()).toMatchObject({ output: 'Done.', toolCalls: 2 });
    await validMessages(run);
  });

  test('during the grace turn, then resumed', async () => {
    const [one, two] = [gate(), gate()];
    rig = await startRig({
      agent: { limits: { turns: 1 } },
      script: [text('First.', { waitFor: one }), text('Second.', { waitFor: two })],
    });
    const run = await rig.start();
    await one.reached;
    await run.steer('Shorter.');
    one.open();
    await two.reached;
    const pausing = run.pause();
    two.open();
    expect(await pausing).toMatchObject({ status: 'paused', turn: 2 });
    await run.resume();
    expect(await run.result()).toMatchObject({ status: 'completed', output: 'Second.', turns: 2 });
  });

  test('then force-finish: the end, without a resume', async () => {
    const held = gate();
    const work = heldTool({ free: ['a'] });
    rig = await startRig({
      agent: { tools: [work.tool] },
      script: [call('work', { name: 'a' }, { waitFor: held })],
    });
    const run = await rig.start();
    await held.reached;
    const pausing = run.pause();
    held.open();
    await pausing;
    expect(await run.forceFinish()).toMatchObject({ status: 'paused', turn: 1 });
    expect(await run.result()).toMatchObject({ status: 'stopped', reason: 'force_finished' });
    expect(work.ran).toEqual([]);
    await validMessages(run);
  });

  test('then the deadline: the end, without a resume, and without going round', async () => {
    const held = gate();
    const work = heldTool({ free: ['a'] });
    rig = await startRig({
      agent: { tools: [work.tool] },
      script: [call('work', { name: 'a' }, { waitFor: held })],
    });
    const run = await rig.start();
    await held.reached;
    const pausing = run.pause();
    held.open();
    await pausing;
    await run.setLimits({ duration: 1 });
    expect(await run.result()).toMatchObject({ status: 'exhausted', reason: 'deadline', output: null, turns: 1 });
    await validMessages(run);
    const { events } = await run.temporal.fetchHistory();
    expect(events?.filter(({ workflowTaskFailedEventAttributes: failed }) => failed)).toEqual([]);
  });

  test('then cancel: cancelled, and a pause that was still to come is answered', async () => {
    const work = heldTool();
    rig = await startRig({
      agent: { tools: [work.tool] },
      script: [call('work', { name: 'a' })],
    });
    const run = await rig.start();
    await work.gate.reached;
    const pausing = run.pause();
    await eventually(async () => (await run.temporal.query<unknown>('state')) !== undefined);
    await run.cancel();
    expect(await run.result()).toMatchObject({ status: 'cancelled', reason: 'cancelled', turns: 1 });
    expect(await pausing).toMatchObject({ status: 'cancelled' });
    await validMessages(run);
  });

  test('that is still to come when the run ends otherwise is answered with how', async () => {
    const held = gate();
    rig = await startRig({ script: [httpError(401, { waitFor: held })] });
    const run = await rig.start();
    await held.reached;
    const pausing = run.pause();
    await eventually(async () => (await run.temporal.query<unknown>('state')) !== undefined);
    held.open();
    expect(await run.result()).toMatchObject({ status: 'failed', reason: 'auth' });
    expect(await pausing).toMatchObject({ status: 'failed' });
  });

  test('shows in the list of runs', async () => {
    const held = gate();
    rig = await startRig({ script: [text('Done.', { waitFor: held })] });
    const run = await rig.start();
    await held.reached;
    const pausing = run.pause();
    held.open();
    await pausing;
    const listed = async (status: string): Promise<boolean> => {
      for await (const one of rig.client.list({ status, agent: 'tester', limit: 1000 }))
        if (one.id === run.id) return true;
      return false;
    };
    await eventually(() => listed('paused'), 'the list shows it as paused');
    await run.resume();
    await run.result();
    await eventually(() => listed('completed'), 'the list shows it as completed');
  });
});

const TEXTS: readonly unknown[] = [
  undefined,
  null,
  '',
  ' \n',
  5,
  [],
  {},
  { text: 1 },
  { text: '' },
  { text: 'a', id: '' },
  { text: 'a', id: 7 },
  { text: 'a', id: 'i'.repeat(201) },
  'x'.repeat(200_001),
  '\u0001'.repeat(150_000),
];
const BAD: Readonly<Record<string, readonly unknown[]>> = {
  steer: TEXTS,
  followUp: TEXTS,
  forceFinish: ['now', 5, ['a'], { output: 5 }, { output: '' }, { outputs: 'x' }, { reason: ' ' }],
  setLimits: [
    undefined,
    null,
    'more',
    [],
    5,
    { turns: 0 },
    { turns: 1.5 },
    { turns: '5' },
    { turns: null },
    { tokens: -1 },
    { toolCalls: 0 },
    { usd: 0 },
    { usd: 'much' },
    { duration: 'soon' },
    { duration: {} },
    { duration: 0 },
    { duration: 1e300 },
    { rounds: 5 },
  ],
};

/** As somebody calls them who has no types. */
const METHODS: Readonly<Record<string, (run: RunHandle, argument: unknown) => Promise<unknown>>> = {
  steer: (run, argument) => run.steer(argument as never),
  followUp: (run, argument) => run.followUp(argument as never),
  forceFinish: (run, argument) => run.forceFinish(argument as never),
  setLimits: (run, argument) => run.setLimits(argument as never),
};

test.each(Object.keys(BAD))(
  'bad arguments of %s: refused as an update, ignored as a signal; the run loses nothing',
  async (name) => {
    const held = gate();
    rig = await startRig({ script: [text('Done.', { waitFor: held })] });
    const run = await rig.start();
    await held.reached;
    const before = await run.state();
    for (const argument of BAD[name] ?? []) {
      const label = JSON.stringify(argument)?.slice(0, 50) ?? 'nothing';
      await expect(METHODS[name]?.(run, argument), label).rejects.toMatchObject({
        name: 'RunArgumentError',
        message: expect.stringMatching(new RegExp(`^${name} was refused: .{10,}\\.$`, 's')) as string,
      });
    }
    expect(await run.state(), 'a refused update changes nothing').toEqual({
      ...before,
      limits: expect.anything() as unknown,
    });
    for (const argument of BAD[name] ?? []) {
      await run.temporal.signal(name, ...(argument === undefined ? [] : [argument]));
    }
    await eventually(async () => (await run.state()).lastError);
    const after = await run.state();
    expect(after.lastError).toMatch(new RegExp(`^The signal ${name} was ignored: `));
    expect(after).toMatchObject({ queues: before.queues, limits: { turns: before.limits['turns'] } });
    held.open();
    expect(await run.result()).toMatchObject({
      status: 'completed',
      output: 'Done.',
      turns: 1,
      unconsumedSteering: [],
    });
  },
);

test('pause and resume take whatever comes along', async () => {
  const held = gate();
  rig = await startRig({ script: [text('Done.', { waitFor: held })] });
  const run = await rig.start();
  await held.reached;
  await run.temporal.signal('pause', { because: 'lunch' }, 5);
  held.open();
  await isStatus(run, 'paused');
  await run.temporal.executeUpdate('resume', { args: [null, []] });
  expect(await run.result()).toMatchObject({ output: 'Done.' });
});

const EVERY: readonly (readonly [string, (run: RunHandle) => Promise<unknown>])[] = [
  ['steer', (run) => run.steer('x')],
  ['followUp', (run) => run.followUp('x')],
  ['forceFinish', (run) => run.forceFinish()],
  ['pause', (run) => run.pause()],
  ['resume', (run) => run.resume()],
  ['setLimits', (run) => run.setLimits({ turns: 5 })],
];

test('updates and a cancel of a finished run, and of an unknown one, are refused by typed errors that say so', async () => {
  rig = await startRig({ script: [text('Done.')] });
  const run = await rig.start();
  await run.result();
  const all: typeof EVERY = [...EVERY, ['cancel', (run) => run.cancel()]];
  for (const [name, update] of all) {
    await expect(update(run), name).rejects.toMatchObject({
      name: 'RunEndedError',
      message: expect.stringContaining('has ended') as string,
    });
    await expect(update(rig.client.handle('nobody')), name).rejects.toMatchObject({
      name: 'RunNotFoundError',
      message: expect.stringContaining('no run nobody') as string,
    });
  }
  const nobody = rig.client.handle('nobody');
  for (const ask of [() => nobody.state(), () => nobody.messages(), () => nobody.result()]) {
    await expect(ask()).rejects.toMatchObject({ name: 'RunNotFoundError' });
  }
  expect(await run.state()).toMatchObject({ status: 'completed', reason: 'answered', output: 'Done.' });
});

test.each(EVERY)('an update %s that is sent with no worker up is answered when one comes', async (name, update) => {
  rig = await startRig({ startWorker: false, script: () => text('Done.') });
  const run = await rig.start();
  const answer = update(run);
  await rig.startWorker();
  expect(await answer).toBeTypeOf('object');
  if (name === 'pause') await run.resume();
  expect((await run.result()).status).toBe(name === 'forceFinish' ? 'stopped' : 'completed');
});

test('queries with bad arguments are refused with a sentence', async () => {
  rig = await startRig({ script: [text('Done.')] });
  const run = await rig.start();
  await run.result();
  for (const page of [{ from: -1 }, { from: 0.5 }, { limit: -1 }]) {
    await expect(run.messagesPage(page)).rejects.toMatchObject({
      name: 'RunArgumentError',
      message: expect.stringMatching(/^messages was refused: .*whole number/) as string,
    });
  }
  expect(await run.messagesPage({ from: 1, limit: 1 })).toMatchObject({ from: 1, total: 2, next: null });
  expect(await run.messagesPage({ from: 99 })).toMatchObject({ messages: [], next: null });
});
