/** SCENARIO 16: the names on the wire, from the plain `temporal` command and the plain client, without anything of Everlap's. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { call, gate, text } from 'everlap/testing';
import { afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { findTemporalCli } from '../../src/dev/temporal-cli.js';
import { linesOf } from '../support/conversation.js';
import { heldTool } from '../support/held-tool.js';
import { eventually, startRig, type Rig } from '../support/rig.js';

let cli: string;
beforeAll(async () => {
  cli = (await findTemporalCli()).path;
});

let rig: Rig;
afterEach(() => rig.stop());

interface Said {
  readonly code: number;
  readonly out: string;
}

/** `temporal <args>`, against the tests' server; whatever the exit code. */
async function temporal(...args: readonly string[]): Promise<Said> {
  const full = [...args, '--address', inject('temporalAddress'), '--color', 'never'];
  try {
    const { stdout, stderr } = await promisify(execFile)(cli, full, { maxBuffer: 50_000_000 });
    return { code: 0, out: stdout + stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, out: `${stdout}${stderr}` };
  }
}

async function ok(...args: readonly string[]): Promise<string> {
  const { code, out } = await temporal(...args);
  expect(code, out).toBe(0);
  return out;
}

async function start(input?: unknown): Promise<string> {
  const id = `cli-${randomUUID()}`;
  const options = ['--workflow-id', id, '--type', 'agentRun', '--task-queue', rig.taskQueue];
  await ok('workflow', 'start', ...options, ...(input === undefined ? [] : ['--input', JSON.stringify(input)]));
  return id;
}

const signal = (id: string, name: string, input?: unknown): Promise<string> =>
  ok(
    'workflow',
    'signal',
    '-w',
    id,
    '--name',
    name,
    ...(input === undefined ? [] : ['--input', JSON.stringify(input)]),
  );

const update = (id: string, name: string, input?: unknown): Promise<Said> =>
  temporal(
    ...['workflow', 'update', 'execute', '-w', id, '--name', name, '-o', 'json'],
    ...(input === undefined ? [] : ['--input', JSON.stringify(input)]),
  );

async function query(id: string, name: string, input?: unknown): Promise<unknown> {
  const args = ['workflow', 'query', '-w', id, '--name', name, '-o', 'json'];
  const answer = JSON.parse(await ok(...args, ...(input === undefined ? [] : ['--input', JSON.stringify(input)]))) as {
    queryResult: unknown[];
  };
  return answer.queryResult[0];
}

test('start, signal, query, result', async () => {
  const held = gate();
  rig = await startRig({ script: [text('First.', { waitFor: held }), text('Second.'), text('Third.')] });
  const id = await start({ agent: 'tester', task: 'Do it.', settings: { limits: { turns: 7 } } });
  await held.reached;
  await signal(id, 'steer', 'Shorter.');
  await signal(id, 'steer', { text: 'And kinder.', id: 'k' });
  await signal(id, 'followUp', 'Thanks?');
  await signal(id, 'setLimits', { turns: 9, duration: '1 hour' });
  expect(await query(id, 'state')).toMatchObject({
    agent: 'tester',
    status: 'running',
    phase: 'model',
    limits: { turns: { limit: 9, left: 9 }, durationMs: { limit: 3_600_000 } },
    queues: { steering: 2, followUps: 1 },
  });
  held.open();
  expect(await ok('workflow', 'result', '-w', id)).toContain('Third.');
  expect(await query(id, 'messages', { from: 1, limit: 2 })).toMatchObject({
    total: 6,
    next: 3,
    messages: [
      { role: 'assistant', text: 'First.' },
      { role: 'user', kind: 'steering' },
    ],
  });
  expect(linesOf(rig.model.requests[2])).toEqual([
    'user: Do it.',
    'assistant: First.',
    'user: [STEERING] Shorter.\n\n[STEERING] And kinder.',
    'assistant: Second.',
    'user: Thanks?',
  ]);
});

test('pause, resume, forceFinish by signal', async () => {
  const work = heldTool({ free: ['a'] });
  const [one, two] = [gate(), gate()];
  rig = await startRig({
    agent: { tools: [work.tool] },
    script: [call('work', { name: 'a' }, { waitFor: one }), text('Nearly.', { waitFor: two })],
  });
  const id = await start({ agent: 'tester', task: 'Do it.' });
  await one.reached;
  await signal(id, 'pause');
  one.open();
  await eventually(async () => ((await query(id, 'state')) as { status: string }).status === 'paused');
  await signal(id, 'resume');
  await two.reached;
  await signal(id, 'forceFinish', { output: 'By hand.' });
  two.open();
  expect(await ok('workflow', 'result', '-w', id)).toContain('By hand.');
});

test('every message as an update, with its answer or its refusal', async () => {
  const held = gate();
  rig = await startRig({ script: [text('First.', { waitFor: held })] });
  const id = await start({ agent: 'tester', task: 'Do it.' });
  await held.reached;
  const answerOf = async (name: string, input?: unknown): Promise<unknown> => {
    const { code, out } = await update(id, name, input);
    expect(code, out).toBe(0);
    return (JSON.parse(out) as { result: unknown }).result;
  };
  expect(await answerOf('steer', 'Shorter.')).toEqual({ position: 1, turn: 2 });
  expect(await answerOf('followUp', { text: 'Thanks?' })).toEqual({ position: 1 });
  expect(await answerOf('setLimits', { turns: 5 })).toEqual({ turns: { limit: 5, left: 5 } });
  expect(await answerOf('resume')).toMatchObject({ status: 'running' });
  for (const [name, input, words] of [
    ['steer', 5, 'Give a text'],
    ['setLimits', { turns: 0 }, 'whole number of at least 1'],
    ['forceFinish', 'now', 'Give nothing, or an object'],
    ['followUp', undefined, 'Give a text'],
  ] as const) {
    const { code, out } = await update(id, name, input);
    expect(code, out).not.toBe(0);
    expect(out).toContain(`${name} was refused: `);
    expect(out).toContain(words);
  }
  const pausing = update(id, 'pause');
  await eventually(async () => (await query(id, 'state')) !== undefined);
  held.open();
  expect((await pausing).out).toContain('paused');
  expect(await answerOf('forceFinish', { reason: 'enough' })).toMatchObject({ status: 'paused', turn: 1 });
  expect(await ok('workflow', 'result', '-w', id)).toContain('force_finished');
  expect((await update(id, 'steer', 'Too late.')).code).not.toBe(0);
});

test('cancel', async () => {
  const work = heldTool();
  rig = await startRig({ agent: { tools: [work.tool] }, script: [call('work', { name: 'a' })] });
  const id = await start({ agent: 'tester', task: 'Do it.' });
  await work.gate.reached;
  await ok('workflow', 'cancel', '-w', id);
  expect(await rig.client.handle(id).result()).toMatchObject({ status: 'cancelled', turns: 1 });
  await eventually(async () => work.aborted.length === 1);
});

test('signal-with-start: the words come after the task', async () => {
  rig = await startRig({ startWorker: false, script: [text('Done.')] });
  const id = `cli-${randomUUID()}`;
  await ok(
    ...['workflow', 'signal-with-start', '--workflow-id', id, '--type', 'agentRun', '--task-queue', rig.taskQueue],
    ...['--input', '{"agent":"tester","task":"Do it."}', '--signal-name', 'steer', '--signal-input', '"Be brief."'],
  );
  await rig.startWorker();
  await ok('workflow', 'result', '-w', id);
  expect(linesOf(rig.model.requests[0])).toEqual(['user: Do it.', 'user: [STEERING] Be brief.']);
});

describe('a start with an input that is none ends at once, with a sentence', () => {
  test.each([
    ['none', undefined, 'bad_request', /must be \{ agent, task, settings\? \}/],
    ['null', null, 'bad_request', /must be \{ agent, task, settings\? \}/],
    ['a text', 'tester', 'bad_request', /must be \{ agent, task, settings\? \}/],
    ['a list', ['tester', 'Do it.'], 'bad_request', /must be \{ agent, task, settings\? \}/],
    ['no task', { agent: 'tester' }, 'bad_request', /task/],
    ['an empty task', { agent: 'tester', task: ' ' }, 'bad_request', /task/],
    ['a task that is no text', { agent: 'tester', task: { a: 1 } }, 'bad_request', /task/],
    ['an unknown agent', { agent: 'clerk', task: 'Do it.' }, 'unknown_agent', /no agent "clerk".*it has: tester/],
    ['an agent that is no name', { agent: 5, task: 'Do it.' }, 'bad_request', /agent/],
    ['an unknown setting', { agent: 'tester', task: 'Do it.', settings: { turns: 5 } }, 'bad_request', /turns/],
    ['a limit of 0', { agent: 'tester', task: 'Do it.', settings: { limits: { turns: 0 } } }, 'bad_request', /turns/],
    [
      'no duration',
      { agent: 'tester', task: 'x', settings: { limits: { duration: 'soon' } } },
      'bad_request',
      /duration/,
    ],
    [
      'a giant duration',
      { agent: 'tester', task: 'x', settings: { limits: { duration: 1e300 } } },
      'bad_request',
      /duration/,
    ],
  ])('%s', async (_, input, reason, words) => {
    rig = await startRig({ script: [] });
    const id = await start(input);
    const result = await rig.client.handle(id).result();
    expect(result).toMatchObject({ status: 'failed', reason, turns: 0 });
    expect(result.error).toMatch(words);
    expect((await rig.client.handle(id).temporal.describe()).status.name).toBe('FAILED');
  });
});
