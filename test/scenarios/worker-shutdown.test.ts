/** A worker that is told to stop (SIGTERM): another takes its calls over at once, and nothing holds its shutdown up. */
import { NativeConnection, Worker } from '@temporalio/worker';
import { defineTool, type AgentOptions } from 'everlap';
import { call, gate, httpError, text, type Script } from 'everlap/testing';
import { EverlapPlugin, openaiChat } from 'everlap/worker';
import { afterEach, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { containing } from '../support/cases.js';
import { startRig, type Rig, type RunningWorker } from '../support/rig.js';

let rig: Rig;
const connections: NativeConnection[] = [];
afterEach(async () => {
  await rig.stop();
  await Promise.all(connections.splice(0).map((connection) => connection.close()));
});

/** A worker of a connection of its own: one connection takes but one worker of a task queue. */
async function another(): Promise<RunningWorker> {
  const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
  connections.push(connection);
  return rig.startWorker({ connection });
}

async function startWith(agent: Partial<AgentOptions>, script: Script) {
  rig = await startRig({ agent, script, startWorker: false });
  const first = await another();
  return { first, run: await rig.start() };
}

test.each(['before', 'after'] as const)(
  'a second worker of one plugin, started %s the first stops, answers',
  async (when) => {
    rig = await startRig({ script: [text('One.'), text('Two.')], startWorker: false });
    const provider = openaiChat({ baseUrl: rig.model.baseUrl, apiKey: 'scripted' });
    const plugin = new EverlapPlugin({ agents: [rig.agent], provider });
    const start = async (): Promise<() => Promise<void>> => {
      const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
      connections.push(connection);
      const worker = await Worker.create({ connection, taskQueue: rig.taskQueue, plugins: [plugin] });
      const running = worker.run();
      return async () => {
        worker.shutdown();
        await running;
      };
    };
    const stopFirst = await start();
    expect(await (await rig.start()).result()).toMatchObject({ output: 'One.' });
    const early = when === 'before' ? await start() : undefined;
    await stopFirst();
    const stopSecond = early ?? (await start());
    expect(await (await rig.start()).result()).toMatchObject({ status: 'completed', output: 'Two.' });
    await stopSecond();
  },
);

describe('a model call', () => {
  test.each([1, 2])('in mid-stream, %i attempts allowed: asked again, and no attempt is used up', async (attempts) => {
    const hold = gate();
    const half = text('Half an answer', { holdAfter: { chunks: 1, until: hold } });
    // As many failures as attempts: one fewer would be an answer too early.
    const failures = Array.from({ length: attempts - 1 }, () => httpError(503));
    const { first, run } = await startWith({ model: { name: 'gpt-5-mini', attempts } }, [
      half,
      ...failures,
      text('Done.'),
    ]);
    await hold.reached;
    await another();
    await first.stop();
    expect(await run.result()).toMatchObject({ status: 'completed', output: 'Done.', turns: 1 });
    expect(rig.model.requests).toHaveLength(attempts + 1);
    expect(rig.model.requests[0]?.closed).toBe('by client');
    expect((await run.messages()).slice(1)).toEqual([{ role: 'assistant', text: 'Done.' }]);
  });

  test('attempts before the shutdown count', async () => {
    const hold = gate();
    const half = text('Half an answer', { holdAfter: { chunks: 1, until: hold } });
    const script = [httpError(503), half, httpError(503)];
    const { first, run } = await startWith({ model: { name: 'gpt-5-mini', attempts: 2 } }, script);
    await hold.reached;
    await another();
    await first.stop();
    expect(await run.result()).toMatchObject({ status: 'failed', reason: 'model_unavailable' });
    expect(rig.model.requests).toHaveLength(3);
  });

  test('with no other worker there: taken up when one comes', async () => {
    const hold = gate();
    const half = text('Half an answer', { holdAfter: { chunks: 1, until: hold } });
    const { first, run } = await startWith({}, [half, text('Done.')]);
    await hold.reached;
    await first.stop();
    await another();
    expect(await run.result()).toMatchObject({ status: 'completed', output: 'Done.' });
  });

  test('an empty cache asks the run: the same conversation, byte for byte', async () => {
    const hold = gate();
    const { first, run } = await startWith({ tools: [quick] }, [
      call('quick', { note: 'ä😀' }, { text: 'First.', extra: { signature: 'x' } }),
      text('Half', { holdAfter: { chunks: 1, until: hold } }),
      text('Done.'),
    ]);
    await hold.reached;
    await another();
    await first.stop();
    await run.result();
    const [, half, whole] = rig.model.requests.map(({ body }) => JSON.stringify(body));
    expect(whole).toBe(half);
  });
});

const quick = defineTool({
  name: 'quick',
  description: 'Answers at once.',
  input: z.object({ note: z.string() }),
  effects: 'none',
  execute: ({ note }) => `noted ${note}`,
});

describe('a tool', () => {
  test.each([
    ['none', 'Done on attempt 2.', 2],
    ['idempotent', 'Done on attempt 2.', 2],
    ['once', containing('Outcome unknown: slow was started, and its worker shut down while it ran.'), 1],
  ] as const)('of effects "%s" that hangs: shutdown is bounded', async (effects, outcome, runs) => {
    const reached = gate();
    let count = 0;
    const slow = defineTool({
      name: 'slow',
      description: 'Hangs the first time.',
      input: z.object({}),
      effects,
      execute: (_, { attempt }) => {
        count += 1;
        if (count > 1) return `Done on attempt ${attempt}.`;
        void reached.wait();
        return new Promise(() => undefined);
      },
    });
    const { first, run } = await startWith({ tools: [slow] }, [call('slow'), text('Done.')]);
    await reached.reached;
    await another();
    await first.stop();
    expect(await run.result()).toMatchObject({ status: 'completed', output: 'Done.' });
    expect((await run.messages())[2]).toMatchObject({ role: 'tool', text: outcome });
    expect(count).toBe(runs);
  });

  test('that ends within its grace keeps its result', async () => {
    const reached = gate();
    const aware = defineTool({
      name: 'aware',
      description: 'Ends in order when it is told to.',
      input: z.object({}),
      execute: (_, { signal }) =>
        new Promise((resolve) => {
          void reached.wait();
          signal.addEventListener('abort', () => resolve('Ended in order.'));
        }),
    });
    const { first, run } = await startWith({ tools: [aware] }, [call('aware'), text('Done.')]);
    await reached.reached;
    await another();
    await first.stop();
    await run.result();
    expect((await run.messages())[2]).toMatchObject({ role: 'tool', text: 'Ended in order.' });
  });
});
