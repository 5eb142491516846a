/** What a watcher is told of a run, from the run's real history on a real server. */
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { defineTool } from 'everlap';
import { RunArgumentError, RunNotFoundError, type AgentEvent, type RunHandle } from 'everlap/client';
import { call, calls, gate, httpError, text } from 'everlap/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { eventually, startRig, type Rig, type RigOptions } from '../support/rig.js';

let rig: Rig;
afterEach(() => rig.stop({ verify: false }));

const numbers = z.object({ a: z.number(), b: z.number() });
const add = defineTool({
  name: 'add',
  description: 'Adds.',
  input: numbers,
  effects: 'none',
  execute: ({ a, b }) => a + b,
});
const multiply = defineTool({
  name: 'multiply',
  description: 'Multiplies.',
  input: numbers,
  effects: 'none',
  execution: 'local',
  execute: ({ a, b }) => a * b,
});
const fail = defineTool({
  name: 'fail',
  description: 'Fails.',
  input: z.object({}),
  effects: 'once',
  execute: () => {
    throw new Error('the disk is full');
  },
});

async function startWith(options: RigOptions): Promise<RunHandle> {
  rig = await startRig({ ...options, agent: { tools: [add, multiply, fail], ...options.agent } });
  return rig.start();
}

async function collect(events: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const all: AgentEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

const typesOf = (events: readonly AgentEvent[]): string[] => events.map(({ type }) => type);
const ofType = <Type extends AgentEvent['type']>(events: readonly AgentEvent[], type: Type) =>
  events.filter((event): event is Extract<AgentEvent, { type: Type }> => event.type === type);

describe('a run of several tools', () => {
  const script = [
    calls(
      [
        { name: 'add', arguments: { a: 1, b: 2 } },
        { name: 'multiply', arguments: { a: 2, b: 3 } },
        { name: 'nothing', arguments: {} },
        { name: 'multiply', arguments: { a: 4, b: 5 } },
        { name: 'fail', arguments: {} },
        { name: 'add', arguments: '{"a":' },
      ],
      { text: 'Let me see.' },
    ),
    call('add', { a: 'one' }),
    text('It is 3.'),
  ];

  test('is told while it happens, the same as afterwards, with the results that the model saw', async () => {
    const run = await startWith({ script });
    const live = await collect(run.events());
    expect(typesOf(live).slice(0, 4)).toEqual(['run_started', 'lap_started', 'turn_started', 'model_answered']);
    expect(live[0]).toMatchObject({ agent: 'tester', task: 'Do it.', lap: 1, turn: 0 });
    expect(live.at(-1)).toMatchObject({ type: 'ended', result: await run.result() });

    const results = ofType(live, 'tool_finished');
    const seen = (await run.messages()).filter((message) => message.role === 'tool');
    expect(Object.fromEntries(results.map(({ callId, text }) => [callId, text]))).toEqual(
      Object.fromEntries(seen.map(({ callId, text }) => [callId, text])),
    );
    expect(results).toHaveLength(seen.length);
    expect(
      results
        .filter(({ isError }) => isError)
        .map(({ callId }) => callId)
        .sort(),
    ).toEqual(
      seen
        .filter(({ isError }) => isError)
        .map(({ callId }) => callId)
        .sort(),
    );
    expect(ofType(live, 'tool_started').map(({ name, args }) => [name, args])).toEqual(
      expect.arrayContaining([
        ['add', { a: 1, b: 2 }],
        ['multiply', { a: 2, b: 3 }],
        ['multiply', { a: 4, b: 5 }],
        ['fail', {}],
      ]),
    );
    for (const { callId, name } of ofType(live, 'tool_started')) {
      const place = (type: string): number =>
        live.findIndex((event) => event.type === type && 'callId' in event && event.callId === callId);
      expect(place('tool_started'), name).toBeLessThan(place('tool_finished'));
    }
    expect(ofType(live, 'model_answered').map(({ turn, text }) => [turn, text])).toEqual([
      [1, 'Let me see.'],
      [2, ''],
      [3, 'It is 3.'],
    ]);

    expect(await collect(run.events())).toEqual(live);
    expect(await collect(run.events({ follow: false }))).toEqual(live);
    expect(new Set(live.map(({ id }) => id)).size).toBe(live.length);
  });

  test('goes on after every event, without a gap or a double', async () => {
    const run = await startWith({ script });
    const all = await collect(run.events());
    for (const [index, { id }] of all.entries()) {
      expect(await collect(run.events({ after: id })), id).toEqual(all.slice(index + 1));
    }
  });
});

test('local tools of one name: each result is told of its own call, also where no model call follows', async () => {
  const run = await startWith({
    agent: { limits: { turns: 1 } },
    script: [calls([1, 2, 3].map((a) => ({ name: 'multiply', arguments: { a, b: 10 } })))],
  });
  const events = await collect(run.events());
  const seen = (await run.messages()).flatMap((message) =>
    message.role === 'tool' ? [[message.callId, message.text]] : [],
  );
  expect(ofType(events, 'tool_finished').map(({ callId, text }) => [callId, text])).toEqual(seen);
  expect(ofType(events, 'tool_started').map(({ args }) => args)).toEqual([1, 2, 3].map((a) => ({ a, b: 10 })));
  expect(events.at(-1)).toMatchObject({ type: 'ended', result: { reason: 'max_turns', toolCalls: 3 } });
});

test('steering and follow-ups, by signal and by update: received, then taken into a turn', async () => {
  const asked = gate();
  const run = await startWith({ script: [text('First.', { waitFor: asked }), text('Second.'), text('Third.')] });
  await asked.reached;
  await run.temporal.signal('steer', { text: 'By signal.', id: 's1' });
  await run.steer('By update.');
  await run.followUp('And then?');
  await run.temporal.signal('steer', '   ');
  asked.open();
  const events = await collect(run.events());
  expect(ofType(events, 'steering_received')).toMatchObject([
    { text: 'By signal.', textId: 's1', via: 'signal', turn: 1 },
    { text: 'By update.', via: 'update', turn: 1 },
  ]);
  expect(ofType(events, 'steering_taken')).toMatchObject([
    { text: '[STEERING] By signal.\n\n[STEERING] By update.', turn: 2 },
  ]);
  expect(ofType(events, 'follow_up_received')).toMatchObject([{ text: 'And then?', via: 'update' }]);
  expect(ofType(events, 'follow_up_taken')).toMatchObject([{ text: 'And then?', turn: 3 }]);
  expect(ofType(events, 'message_ignored')).toMatchObject([{ name: 'steer', problem: 'The text is empty.' }]);
});

test('limits, pause and resume', async () => {
  const asked = gate();
  const run = await startWith({ script: [call('add', { a: 1, b: 1 }, { waitFor: asked }), text('Done.')] });
  await asked.reached;
  await run.setLimits({ turns: 7, duration: '1 hour' });
  const paused = run.pause();
  await eventually(async () => ofType(await collect(run.events({ follow: false })), 'pause_requested').length > 0);
  asked.open();
  await paused;
  await run.resume();
  const events = await collect(run.events());
  expect(ofType(events, 'limits_changed')).toMatchObject([{ limits: { turns: 7, durationMs: 3_600_000 } }]);
  expect(typesOf(events).filter((type) => /pause|resume/.test(type))).toEqual([
    'pause_requested',
    'paused',
    'resume_requested',
    'resumed',
  ]);
});

describe('every way to end ends with the result', () => {
  const ended = async (run: RunHandle): Promise<AgentEvent[]> => {
    const events = await collect(run.events());
    expect(events.at(-1)).toMatchObject({ type: 'ended', result: await run.result() });
    expect(await collect(run.events({ after: events.at(-1)?.id ?? '' }))).toEqual([]);
    return events;
  };

  test('failed', async () => {
    const run = await startWith({ script: [httpError(401)] });
    const events = await ended(run);
    expect(events.at(-1)).toMatchObject({ result: { status: 'failed', reason: 'auth' } });
    expect(ofType(events, 'model_failed')).toMatchObject([{ turn: 1, reason: 'auth', model: 'gpt-5-mini' }]);
  });

  test('failed before the first turn', async () => {
    rig = await startRig({ script: [] });
    const run = await rig.start({ agent: 'nobody' });
    expect(typesOf(await ended(run))).toEqual(['run_started', 'ended']);
  });

  test('force-finished', async () => {
    const asked = gate();
    const run = await startWith({ script: [call('add', { a: 1, b: 1 }, { waitFor: asked })] });
    await asked.reached;
    await run.forceFinish({ reason: 'Enough.', output: 'So far.' });
    asked.open();
    const events = await ended(run);
    expect(ofType(events, 'force_finish_requested')).toMatchObject([
      { reason: 'Enough.', output: 'So far.', via: 'update' },
    ]);
  });

  test('cancelled', async () => {
    const asked = gate();
    const run = await startWith({ script: [call('add', { a: 1, b: 1 }), text('Never.', { waitFor: asked })] });
    await asked.reached;
    await run.cancel();
    const events = await ended(run);
    asked.open();
    expect(ofType(events, 'cancel_requested')).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({ result: { status: 'cancelled', turns: 1, toolCalls: 1 } });
  });

  test('cancelled and terminated before any worker came', async () => {
    rig = await startRig({ script: [], startWorker: false });
    for (const end of [
      (run: RunHandle) => run.temporal.terminate('Enough.'),
      (run: RunHandle) => run.temporal.terminate(),
    ]) {
      const run = await rig.start();
      await end(run);
      const events = await collect(run.events());
      expect(typesOf(events)).toEqual(['run_started', 'ended']);
      expect(events.at(-1)).toMatchObject({ result: { status: 'failed', reason: 'internal', turns: 0, laps: 1 } });
    }
  });

  test('terminated: with the figures that the run itself would give', async () => {
    const asked = gate();
    const run = await startWith({
      script: [
        calls([
          { name: 'add', arguments: { a: 1, b: 1 } },
          { name: 'multiply', arguments: { a: 1, b: 1 } },
        ]),
        text('Never.', { waitFor: asked }),
      ],
    });
    await asked.reached;
    await run.temporal.terminate('Enough.');
    const events = await ended(run);
    asked.open();
    expect(events.at(-1)).toMatchObject({
      result: { status: 'failed', turns: 1, toolCalls: 2, error: 'The run ended from outside: Enough.' },
    });
  });

  test('timed out by Temporal', async () => {
    rig = await startRig({ script: [], startWorker: false });
    const run = await rig.start({ workflow: { workflowRunTimeout: '1 second' } });
    expect((await collect(run.events())).at(-1)).toMatchObject({ result: { status: 'failed', reason: 'internal' } });
  });
});

describe('what cannot be watched says so', () => {
  const failure = (events: AsyncIterable<AgentEvent>): Promise<unknown> =>
    collect(events).catch((error: unknown) => error);

  test('no such run', async () => {
    rig = await startRig({ script: [] });
    const error = await failure(rig.client.handle('no-such-run').events());
    expect(error).toBeInstanceOf(RunNotFoundError);
    expect(error).toMatchObject({ message: 'There is no run no-such-run in this namespace.' });
  });

  test('an event that is none of the run', async () => {
    const run = await startWith({ script: [text('One.'), text('Two.')] });
    const other = await rig.start();
    const ended = (await collect(run.events())).at(-1)?.id ?? '';
    const foreign = (await collect(other.events()))[0]?.id ?? '';
    const [runId = '', eventId = ''] = ended.split(':');
    for (const after of [
      '',
      'x',
      runId,
      `${runId}:0:0`,
      `${ended}:1`,
      foreign,
      `${runId}:${eventId}:1`,
      `${runId}:2:0`,
      `${runId}:9999:0`,
    ]) {
      const error = await failure(run.events({ after }));
      expect(error, after).toBeInstanceOf(RunArgumentError);
      expect(error).toMatchObject({ message: expect.stringMatching(/event/) as string });
    }
  });

  test('payloads that this client cannot read', async () => {
    const run = await startWith({ script: [text('One.')] });
    await run.result();
    const { connection } = rig.temporal;
    const { EverlapClient } = await import('everlap/client');
    const reject = async () => {
      throw new Error('Wrong key.');
    };
    const blind = new Client({
      connection,
      dataConverter: { payloadCodecs: [{ encode: async (payloads) => payloads, decode: reject }] },
    });
    const error = await failure(new EverlapClient({ client: blind }).handle(run.id).events());
    expect(String(error)).toContain(`The history of ${run.id} cannot be decoded: Wrong key.`);
  });
});

test('a signal ends the events at once, without an error', async () => {
  rig = await startRig({ script: [], startWorker: false });
  const run = await rig.start();
  const controller = new AbortController();
  const seen: string[] = [];
  for await (const event of run.events({ signal: controller.signal })) {
    seen.push(event.type);
    controller.abort();
  }
  expect(seen).toEqual(['run_started']);
  expect(await collect(run.events({ signal: controller.signal }))).toEqual([]);
  expect(typesOf(await collect(run.events({ follow: false })))).toEqual(['run_started']);
});

test("of a team's own workflow that runs two agents: two runs, and an end that is no failure", async () => {
  rig = await startRig({
    script: [text('One.'), text('Two.')],
    worker: {
      worker: { workflowsPath: fileURLToPath(new URL('../workflows/fixtures/calls-the-loop.ts', import.meta.url)) },
    },
  });
  const workflowId = `${rig.taskQueue}-twice`;
  const options = { taskQueue: rig.taskQueue, workflowId, args: ['Look.', ['', 'second']] };
  expect(await rig.temporal.workflow.execute('reviewTwice', options)).toBe('One., Two.');
  const run = rig.client.handle(workflowId);
  const events = await collect(run.events());
  const one = ['lap_started', 'turn_started', 'model_answered'];
  expect(typesOf(events)).toEqual(['run_started', ...one, ...one, 'ended']);
  expect(events.map(({ turn }) => turn)).toEqual([0, 1, 1, 1, 1, 1, 1, 1]);
  const { result } = events.at(-1) as Extract<AgentEvent, { type: 'ended' }>;
  expect(events.at(-1)).toMatchObject({ ownResult: true, result: { status: 'completed', output: null, turns: 2 } });
  expect(result).not.toHaveProperty('error');
  await expect(run.result()).rejects.toThrow(
    `The workflow ${workflowId} completed with a result of its own, as one may that calls runAgent, and not with an ` +
      `AgentResult. To read it: client.handle('${workflowId}').temporal.result()`,
  );
  expect(await run.temporal.result()).toBe('One., Two.');
});
