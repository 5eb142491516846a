/** What a client is told where it gets no answer: which run, why, and that nothing was started for nothing. */
import { randomUUID } from 'node:crypto';
import { defineAgent } from 'everlap';
import { EverlapClient, RunArgumentError, RunEndedError, RunNotFoundError } from 'everlap/client';
import { gate, httpError, text } from 'everlap/testing';
import { createWorker } from 'everlap/worker';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { startRig, type Rig } from '../support/rig.js';

const plain = defineAgent({ name: 'plain', instructions: 'Answer once.', model: 'gpt-5-mini' });
const desk = defineAgent({ name: 'desk', instructions: 'Talk.', model: 'gpt-5-mini', session: {} });
const held = gate();

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({
    agents: [plain, desk],
    script: async ({ messages }) => {
      if (messages.at(-1)?.content !== 'lock') return text('Yes.');
      await held.wait();
      return httpError(401);
    },
  });
});
afterEach(() => vi.unstubAllEnvs());
afterAll(() => rig.stop());

const errorOf = (promise: Promise<unknown>): Promise<unknown> => promise.then(String, (error: unknown) => error);

describe('a run that has failed before it took a message: the error has its id and its own sentence', () => {
  test.each([
    [
      'an unknown agent',
      'nobody',
      /^The run nobody-[\w-]+ has ended \(unknown_agent\).* It failed: .*no agent "nobody".*plain, desk/,
    ],
    ['an agent without a session', plain, /^The run plain-[\w-]+ has ended \(bad_request\).* It failed: .*task/],
  ])('%s', async (_, agent, said) => {
    const error = await errorOf(rig.client.startWithFollowUp({ agent, followUp: 'Hello?' }));
    expect(error).toBeInstanceOf(RunEndedError);
    expect(error).toMatchObject({ status: 'failed', message: expect.stringMatching(said) });
    const { runId } = error as RunEndedError;
    if (runId === undefined) throw new Error('It does not say which run.');
    expect((error as Error).message).toContain(runId);
    expect(await rig.client.handle(runId).result()).toMatchObject({ status: 'failed' });
  });

  test('one that waits in its queue, and one that comes when it is closed', async () => {
    const { run } = await rig.client.startWithFollowUp({ agent: desk, followUp: 'one' });
    const locked = run.followUp('lock');
    await held.reached;
    const queued = errorOf(run.followUp('two'));
    await expect.poll(async () => (await run.state()).queues.followUps).toBe(1);
    held.open();
    expect(await locked).toMatchObject({ reason: 'auth', answer: null });
    await run.result();
    const said = (how: string): object => ({
      name: 'RunEndedError',
      runId: run.id,
      status: 'failed',
      message: expect.stringMatching(new RegExp(`^The run ${run.id} has ended${how}.* It failed: .*401`)) as string,
    });
    expect(await queued).toMatchObject(said(' \\(auth\\) before'));
    expect(await errorOf(run.followUp('three'))).toMatchObject(said('; followUp came too late'));
  });
});

describe('what cannot be right is refused before a run is started for it', () => {
  test.each([
    ['startWithFollowUp', '', /^followUp was refused: The text is empty\.$/],
    ['startWithFollowUp', { text: 'a', id: '' }, /^followUp was refused: id must be/],
    ['startWithSteer', ' ', /^steer was refused: The text is empty\.$/],
  ] as const)('%s with %j', async (how, words, said) => {
    const id = `refused-${randomUUID()}`;
    const asked =
      how === 'startWithSteer'
        ? rig.client.startWithSteer({ agent: desk, id, task: 'Go.', steer: words })
        : rig.client.startWithFollowUp({ agent: desk, id, followUp: words });
    const error = await errorOf(asked);
    expect(error).toBeInstanceOf(RunArgumentError);
    expect((error as Error).message).toMatch(said);
    await expect(rig.client.handle(id).result()).rejects.toBeInstanceOf(RunNotFoundError);
  });

  test('an empty id', async () => {
    const start = { agent: desk, id: '' };
    for (const asked of [
      () => rig.client.start({ ...start, task: 'Go.' }),
      () => rig.client.startWithSteer({ ...start, task: 'Go.', steer: 'Left.' }),
      () => rig.client.startWithFollowUp({ ...start, followUp: 'Hello?' }),
      async () => rig.client.handle(''),
    ]) {
      const error = await errorOf(asked());
      expect(error).toBeInstanceOf(RunArgumentError);
      expect((error as Error).message).toMatch(/^The run's id is empty\. /);
    }
  });
});

test('the id of an open run is taken, that of an ended one is not', async () => {
  const id = `again-${randomUUID()}`;
  const one = await rig.client.start({ agent: desk, id, task: 'one' });
  await expect(rig.client.start({ agent: desk, id, task: 'two' })).rejects.toMatchObject({
    name: 'WorkflowExecutionAlreadyStartedError',
  });
  await one.forceFinish();
  await one.result();
  const two = await rig.client.start({ agent: plain, id, task: 'two' });
  expect(await two.result()).toMatchObject({ status: 'completed', turns: 1 });
});

describe('no server', () => {
  test('the address, and what to do', async () => {
    const address = '127.0.0.1:1';
    const error = await errorOf(EverlapClient.connect({ address }));
    expect(error).toHaveProperty('message', expect.stringMatching(whyNot(address, 'the option address')));
    vi.stubEnv('TEMPORAL_ADDRESS', address);
    const worker = await errorOf(createWorker({ agents: [plain] }));
    expect(worker).toHaveProperty('message', expect.stringMatching(whyNot(address, 'the option connection')));
  });

  const whyNot = (address: string, option: string): RegExp =>
    new RegExp(
      `^No Temporal server answers at ${address} \\(.*\\): start one with \`npx everlap dev\`, or name yours by ${option} or TEMPORAL_ADDRESS`,
    );

  test.each([
    ['a client', () => EverlapClient.connect()],
    ['a worker', () => createWorker({ agents: [plain] })],
  ])('%s: what is no address, and an environment configuration that cannot be read', async (_, connect) => {
    vi.stubEnv('TEMPORAL_ADDRESS', 'no address:at all');
    expect(await errorOf(connect())).toHaveProperty(
      'message',
      expect.stringMatching(/^"no address:at all" is no address of a Temporal server; it must look like/),
    );
    vi.stubEnv('TEMPORAL_PROFILE', 'there-is-none');
    expect(await errorOf(connect())).toHaveProperty(
      'message',
      expect.stringMatching(
        /^Temporal's environment configuration cannot be read \(.*\); correct TEMPORAL_CONFIG_FILE/,
      ),
    );
  });
});
