/** Watching goes on over whatever breaks meanwhile: workers, the server, the execution itself. */
import { Client, Connection } from '@temporalio/client';
import { defineTool } from 'everlap';
import { EverlapClient, type AgentEvent } from 'everlap/client';
import { call, gate, text } from 'everlap/testing';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { startOwnServer, type OwnServer } from './own-server.js';

const SLOW = 180_000;
let own: OwnServer;
afterEach(() => own.stop(), SLOW);

const add = defineTool({
  name: 'add',
  description: 'Adds.',
  input: z.object({ a: z.number(), b: z.number() }),
  effects: 'none',
  execute: ({ a, b }) => a + b,
});

async function collect(events: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const all: AgentEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

/** A watcher in the background: all that it was told, and when it is told something. */
function watch(events: AsyncIterable<AgentEvent>) {
  const told: AgentEvent[] = [];
  const waiting: { readonly type: string; readonly resolve: () => void }[] = [];
  const done = (async () => {
    for await (const event of events) {
      told.push(event);
      for (const { type, resolve } of waiting) if (type === event.type) resolve();
    }
  })();
  const until = (type: AgentEvent['type']): Promise<void> =>
    new Promise((resolve) => {
      if (told.some((event) => event.type === type)) resolve();
      else waiting.push({ type, resolve });
    });
  return { told, done, until };
}

test(
  'a worker that comes late, goes, and comes again',
  async () => {
    const asked = gate();
    own = await startOwnServer({
      agent: { tools: [add] },
      script: (_, n) =>
        n === 0
          ? call('add', { a: 1, b: 2 }, { waitFor: asked })
          : n === 1
            ? call('add', { a: 1, b: 2 })
            : text('It is 3.'),
    });
    const run = await own.start();
    const watcher = watch(run.events());
    await watcher.until('run_started');
    const stop = await own.startWorker();
    await asked.reached;
    await watcher.until('turn_started');
    await stop();
    await own.startWorker();
    await watcher.done;
    expect(watcher.told.at(-1)).toMatchObject({ type: 'ended', result: { status: 'completed', output: 'It is 3.' } });
    expect(watcher.told).toEqual(await collect(run.events()));
    expect(watcher.told.map(({ type }) => type).slice(2, 6)).toEqual([
      'turn_started',
      'model_failed',
      'model_retrying',
      'model_answered',
    ]);
    expect(watcher.told[3]).toMatchObject({ turn: 1, reason: 'worker_shutdown' });
  },
  SLOW,
);

test(
  'a server that is killed and started again on its file',
  async () => {
    const asked = gate();
    own = await startOwnServer({
      agent: { tools: [add] },
      script: [call('add', { a: 1, b: 2 }), text('It is 3.', { waitFor: asked })],
    });
    await own.startWorker();
    const run = await own.start();
    const trouble: Error[] = [];
    const watcher = watch(run.events({ onRetry: (error) => trouble.push(error) }));
    await asked.reached;
    await watcher.until('tool_finished');
    const before = watcher.told.at(-1)?.id ?? '';
    await own.restartServer();
    asked.open();
    await watcher.done;
    expect(watcher.told.at(-1)).toMatchObject({ type: 'ended', result: await run.result() });
    const all = await collect(run.events());
    expect(watcher.told).toEqual(all);
    expect(await collect(run.events({ after: before }))).toEqual(
      all.slice(all.findIndex(({ id }) => id === before) + 1),
    );
  },
  SLOW,
);

test(
  'a signal ends the events while the server is down',
  async () => {
    own = await startOwnServer({ script: [] });
    const { id } = await own.start();
    // Left open: an abandoned request tries again by itself for a while, and throws at nobody where its channel is closed.
    const connection = await Connection.connect({ address: own.address });
    const run = new EverlapClient({ client: new Client({ connection }) }).handle(id);
    const controller = new AbortController();
    const watcher = watch(run.events({ signal: controller.signal }));
    await watcher.until('run_started');
    await own.restartServer(async () => {
      controller.abort();
      await watcher.done;
    });
    expect(watcher.told.map(({ type }) => type)).toEqual(['run_started']);
  },
  SLOW,
);

test(
  'a run over many executions: from the first, in one piece, from every event',
  async () => {
    own = await startOwnServer({
      agent: { tools: [add] },
      server: { dynamicConfig: ['limit.historyCount.suggestContinueAsNew=30'] },
      script: (_, n) =>
        n % 4 === 3 && n < 15
          ? call('nothing')
          : n < 15
            ? call('add', { a: n, b: 1 })
            : n === 15
              ? text('Done?')
              : text('Done.'),
    });
    await own.startWorker();
    const run = await own.start();
    await run.followUp('Are you sure?');
    const all = await collect(run.events());
    const laps = all.filter(({ type }) => type === 'continued_as_new').length;
    expect(laps).toBeGreaterThan(1);
    expect(all.filter(({ type }) => type === 'run_started')).toHaveLength(1);
    expect(all.filter(({ type }) => type === 'lap_started')).toHaveLength(1);
    expect(all.flatMap((event) => (event.type === 'turn_started' ? [event.turn] : []))).toEqual(
      Array.from({ length: 17 }, (_, turn) => turn + 1),
    );
    expect(all.filter(({ type }) => type === 'tool_finished')).toHaveLength(15);
    expect(all.filter(({ type }) => type === 'follow_up_taken')).toMatchObject([{ text: 'Are you sure?' }]);
    expect(all.at(-1)).toMatchObject({ type: 'ended', result: await run.result() });
    for (const [index, { id }] of all.entries()) {
      expect(await collect(run.events({ after: id })), id).toEqual(all.slice(index + 1));
    }
  },
  SLOW,
);

test(
  'a run that was reset goes on in the execution that the reset made',
  async () => {
    own = await startOwnServer({
      agent: { tools: [add] },
      script: (_, n) => (n === 0 ? call('add', { a: 1, b: 2 }) : text(`Answer ${n}.`)),
    });
    await own.startWorker();
    const run = await own.start();
    const first = await collect(run.events());
    const { workflowService, options } = own.client.temporal;
    const { events } = await run.temporal.fetchHistory();
    const completed = events?.filter((event) => event.workflowTaskCompletedEventAttributes) ?? [];
    const { runId } = await workflowService.resetWorkflowExecution({
      namespace: options.namespace,
      workflowExecution: { workflowId: run.id, runId: first[0]?.id.split(':')[0] ?? '' },
      reason: 'Try again.',
      workflowTaskFinishEventId: completed.at(-1)?.eventId ?? null,
      requestId: 'reset-1',
    });
    const all = await collect(run.events());
    expect(all.slice(0, first.length - 1)).toEqual(first.slice(0, -1));
    expect(all[first.length - 1]).toMatchObject({ type: 'continued_as_new', cause: 'reset', newRunId: runId });
    expect(all[first.length]).toMatchObject({ type: 'run_started' });
    expect(all.at(-1)).toMatchObject({ type: 'ended', result: await run.result() });
  },
  SLOW,
);
