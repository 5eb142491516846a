/** SCENARIOS 8 to 11, 15: words of people on their way into a working run. */
import type { RunHandle } from 'everlap/client';
import { call, calls, gate, text, type Step } from 'everlap/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { linesOf, validMessages } from '../support/conversation.js';
import { heldTool } from '../support/held-tool.js';
import { eventually, startRig, type Rig } from '../support/rig.js';

let rig: Rig;
afterEach(() => rig.stop());

/** Both doors of a message: the update, and the signal that a plain Temporal client would send. */
const DOORS = {
  update: (run: RunHandle, name: 'steer' | 'followUp', argument: string | { text: string; id?: string }) =>
    run[name](argument).then(() => undefined),
  signal: (run: RunHandle, name: 'steer' | 'followUp', argument: string | { text: string; id?: string }) =>
    run.temporal.signal(name, argument),
} as const;
const BOTH = Object.keys(DOORS) as (keyof typeof DOORS)[];

test.each(BOTH)('steer by %s during a slow tool follows all results of that turn', async (door) => {
  const work = heldTool({ free: ['a'] });
  rig = await startRig({
    agent: { tools: [work.tool] },
    script: [
      calls([
        { name: 'work', arguments: { name: 'a' } },
        { name: 'work', arguments: { name: 'b' } },
      ]),
      text('Done.'),
    ],
  });
  const run = await rig.start();
  await work.gate.reached;
  await DOORS[door](run, 'steer', 'Look at c as well.');
  work.gate.open();
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'Done.', unconsumedSteering: [] });
  expect(linesOf(rig.model.requests[1])).toEqual([
    'user: Do it.',
    'assistant: work, work',
    'tool: a is done',
    'tool: b is done',
    'user: [STEERING] Look at c as well.',
  ]);
});

test('steer answers with its place and the turn it will enter: in a tool, and while the model answers', async () => {
  const work = heldTool();
  const first = gate();
  rig = await startRig({
    agent: { tools: [work.tool] },
    script: [call('work', { name: 'a' }, { waitFor: first }), text('Done.')],
  });
  const run = await rig.start();
  await first.reached;
  expect(await run.steer('one')).toEqual({ position: 1, turn: 2 });
  first.open();
  await work.gate.reached;
  expect(await run.steer('two')).toEqual({ position: 2, turn: 2 });
  expect(await run.followUp('later')).toEqual({ position: 1 });
  await run.forceFinish();
  work.gate.open();
  expect(await run.result()).toMatchObject({
    reason: 'force_finished',
    unconsumedSteering: [
      { kind: 'steer', text: 'one' },
      { kind: 'steer', text: 'two' },
      { kind: 'followUp', text: 'later' },
    ],
  });
});

describe('steer while the final text is being made', () => {
  test.each([
    ['with turns left', undefined],
    ['on the last allowed turn', { turns: 1 }],
  ])('%s: one more turn, its answer is the output', async (_, limits) => {
    const held = gate();
    rig = await startRig({
      agent: { ...(limits && { limits }) },
      script: [text('First answer.', { holdAfter: { chunks: 1, until: held } }), text('Second answer.')],
    });
    const run = await rig.start();
    await held.reached;
    await run.steer('Shorter.');
    held.open();
    expect(await run.result()).toMatchObject({
      status: 'completed',
      reason: 'answered',
      output: 'Second answer.',
      turns: 2,
      unconsumedSteering: [],
    });
    expect(linesOf(rig.model.requests[1])).toEqual([
      'user: Do it.',
      'assistant: First answer.',
      'user: [STEERING] Shorter.',
    ]);
  });

  test('in the grace turn: no second grace, its answer stands, the words are in the result', async () => {
    const [one, two] = [gate(), gate()];
    rig = await startRig({
      agent: { limits: { turns: 1 } },
      script: [text('First.', { waitFor: one }), text('Second.', { waitFor: two })],
    });
    const run = await rig.start();
    await one.reached;
    await run.steer('a');
    one.open();
    await two.reached;
    expect((await run.state()).limits).toMatchObject({ turns: { limit: 1, left: 1 } });
    await run.steer('b');
    two.open();
    expect(await run.result()).toMatchObject({
      status: 'completed',
      output: 'Second.',
      turns: 2,
      unconsumedSteering: [{ kind: 'steer', text: 'b' }],
    });
  });

  test('a grace turn that calls a tool: the tool runs, then max_turns', async () => {
    const held = gate();
    const work = heldTool({ free: ['a'] });
    rig = await startRig({
      agent: { tools: [work.tool], limits: { turns: 1 } },
      script: [text('First.', { waitFor: held }), call('work', { name: 'a' })],
    });
    const run = await rig.start();
    await held.reached;
    await run.steer('More.');
    held.open();
    expect(await run.result()).toMatchObject({ status: 'exhausted', reason: 'max_turns', output: null, turns: 2 });
    expect(work.ran).toEqual(['a']);
    await validMessages(run);
  });

  test('a follow-up is no reason for a grace turn, nor does it lose one for steering', async () => {
    const held = gate();
    rig = await startRig({
      agent: { limits: { turns: 1 } },
      script: [text('First.', { waitFor: held }), text('Second.')],
    });
    const run = await rig.start();
    await held.reached;
    await run.followUp('And then?');
    await run.steer('Shorter.');
    held.open();
    expect(await run.result()).toMatchObject({
      status: 'exhausted',
      reason: 'max_turns',
      turns: 2,
      unconsumedSteering: [{ kind: 'followUp', text: 'And then?' }],
    });
  });
});

test('three steer before one turn: one message in arrival order; an id counts once, whatever the door', async () => {
  const held = gate();
  rig = await startRig({ script: [text('First.', { waitFor: held }), text('Second.')] });
  const run = await rig.start();
  await held.reached;
  expect(await run.steer({ text: 'one', id: 'x' })).toEqual({ position: 1, turn: 2 });
  await run.temporal.signal('steer', 'two');
  await run.temporal.signal('steer', { text: 'one', id: 'x' });
  expect(await run.steer({ text: 'one', id: 'x' })).toEqual({ position: 1, turn: 2 });
  expect(await run.steer('three')).toEqual({ position: 3, turn: 2 });
  held.open();
  await run.result();
  expect(linesOf(rig.model.requests[1]).at(-1)).toBe('user: [STEERING] one\n\n[STEERING] two\n\n[STEERING] three');
});

test('an id that was taken already counts no more', async () => {
  const [one, two] = [gate(), gate()];
  rig = await startRig({ script: [text('1', { waitFor: one }), text('2', { waitFor: two })] });
  const run = await rig.start();
  await one.reached;
  await run.steer({ text: 'go', id: 'x' });
  one.open();
  await two.reached;
  expect(await run.steer({ text: 'go', id: 'x' })).toEqual({ position: 0, turn: 3 });
  two.open();
  expect(await run.result()).toMatchObject({ output: '2', turns: 2, unconsumedSteering: [] });
});

test('steer by signal-with-start before the first turn comes after the task, in order; a second start steers', async () => {
  rig = await startRig({ startWorker: false, script: [text('Done.')] });
  const start = { agent: rig.agent, task: 'Do it.', id: `run-${rig.taskQueue}` };
  const run = await rig.client.startWithSteer({ ...start, steer: 'Be brief.' });
  expect((await rig.client.startWithSteer({ ...start, steer: { text: 'And kind.', id: 'k' } })).id).toBe(run.id);
  await run.temporal.signal('followUp', 'Thanks?');
  await run.temporal.signal('forceFinish', { output: 5 });
  const held = run.setLimits({ turns: 1 });
  await rig.startWorker();
  expect(await held).toEqual({ turns: { limit: 1, left: 1 } });
  expect(await run.result()).toMatchObject({ reason: 'max_turns', unconsumedSteering: [{ text: 'Thanks?' }] });
  expect(linesOf(rig.model.requests[0])).toEqual([
    'user: Do it.',
    'user: [STEERING] Be brief.\n\n[STEERING] And kind.',
  ]);
});

test('follow-ups come one at a time, after steering, where the run would end otherwise', async () => {
  const held = gate();
  rig = await startRig({
    script: [text('1', { waitFor: held }), text('2'), text('3'), text('4')],
  });
  const run = await rig.start();
  await held.reached;
  await run.followUp('then a');
  await run.temporal.signal('followUp', { text: 'then b', id: 'b' });
  await run.steer('first this');
  held.open();
  expect(await run.result()).toMatchObject({ status: 'completed', output: '4', turns: 4 });
  expect(linesOf(rig.model.requests[3])).toEqual([
    'user: Do it.',
    'assistant: 1',
    'user: [STEERING] first this',
    'assistant: 2',
    'user: then a',
    'assistant: 3',
    'user: then b',
  ]);
});

test('texts of any kind arrive as they are, but never with half a character', async () => {
  const held = gate();
  rig = await startRig({ script: [text('1', { waitFor: held }), text('2')] });
  const run = await rig.start();
  await held.reached;
  await run.steer('half \ud83d of an emoji');
  await run.steer('"quotes"\n\u0000 and 漢字 👩‍👩‍👧');
  await run.steer('汉'.repeat(150_000));
  held.open();
  await run.result();
  const last = linesOf(rig.model.requests[1]).at(-1) ?? '';
  expect(last).toContain('[STEERING] half \ufffd of an emoji\n\n[STEERING] "quotes"\n\u0000 and 漢字 👩‍👩‍👧\n\n');
  expect(last).toContain('汉'.repeat(150_000));
});

test('more than a run can carry is refused, and nothing of what was taken is lost', async () => {
  const held = gate();
  rig = await startRig({ script: [text('1', { waitFor: held }), text('2'), text('3')] });
  const run = await rig.start();
  await held.reached;
  await run.steer('汉'.repeat(100_000));
  await run.followUp('字'.repeat(99_000));
  await expect(run.steer('漢'.repeat(2_000))).rejects.toThrow(/2 texts are waiting already/);
  await expect(run.followUp('漢'.repeat(2_000))).rejects.toThrow(/2 texts are waiting already/);
  await run.steer('still room for this');
  held.open();
  expect(await run.result()).toMatchObject({ status: 'completed', output: '3', unconsumedSteering: [] });
});

test('steering that races with the end: what was accepted was said to the model, or is in the result', async () => {
  const script = (): Step => text('Done.');
  const runs = Array.from({ length: 12 }, (_, index) => `task ${index}.`);
  rig = await startRig({ byTask: Object.fromEntries(runs.map((task) => [task, script])) });
  const outcomes = await Promise.all(
    runs.map(async (task, index) => {
      const run = await rig.start({ task });
      const accepted: string[] = [];
      const refused: unknown[] = [];
      const steer = async (words: string): Promise<void> => {
        try {
          await (index % 2 === 0 ? run.steer(words) : run.followUp(words));
          accepted.push(words);
        } catch (error) {
          refused.push(error);
        }
      };
      for (let n = 0; n < 6 && refused.length === 0; n += 1) await Promise.all([steer(`${n}a`), steer(`${n}b`)]);
      return { task, accepted, refused, result: await run.result() };
    }),
  );
  for (const { task, accepted, refused, result } of outcomes) {
    expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
    for (const error of refused) expect(error).toMatchObject({ name: 'RunEndedError' });
    const said = rig.model.requests.filter((request) => request.task === task).at(-1);
    const heard = (
      linesOf(said)
        .join('\n')
        .match(/\b\d[ab]\b/g) ?? []
    ).filter((word) => word !== '');
    const left = result.unconsumedSteering.map((one) => one.text);
    expect([...heard, ...left].sort(), task).toEqual([...accepted].sort());
  }
});

test('signals that race with the end are in the last request or in the result', async () => {
  const runs = Array.from({ length: 8 }, (_, index) => `task ${index}.`);
  rig = await startRig({ byTask: Object.fromEntries(runs.map((task) => [task, () => text('Done.')])) });
  await Promise.all(
    runs.map(async (task) => {
      const run = await rig.start({ task });
      const sent: string[] = [];
      for (let n = 0; n < 30; n += 1) {
        try {
          await run.temporal.signal('steer', `w${n}.`);
          sent.push(`w${n}.`);
        } catch (error) {
          expect(error).toMatchObject({ name: 'WorkflowNotFoundError' });
          break;
        }
      }
      const result = await run.result();
      const said = rig.model.requests.filter((request) => request.task === task).at(-1);
      const heard =
        linesOf(said)
          .join('\n')
          .match(/\bw\d+\./g) ?? [];
      expect([...heard, ...result.unconsumedSteering.map((one) => one.text)], task).toEqual(sent);
    }),
  );
});

test('the state tells what waits', async () => {
  const held = gate();
  rig = await startRig({ script: [text('1', { waitFor: held }), text('2'), text('3')] });
  const run = await rig.start();
  await held.reached;
  await run.steer('a');
  await run.followUp('b');
  expect(await run.state()).toMatchObject({ queues: { steering: 1, followUps: 1 }, turn: 0, status: 'running' });
  held.open();
  await run.result();
  expect(await eventually(() => run.state())).toMatchObject({
    queues: { steering: 0, followUps: 0 },
    status: 'completed',
    transition: 'follow_up',
  });
});
