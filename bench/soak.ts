/**
 * One run of thousands of turns: how many executions it takes, events and bytes a turn, memory, and whether every
 * execution replays. Exits with 1 where one does not, or the run does not end as it should.
 * `--turns 10000 --result 2000 --window 60000`
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { defineAgent, defineTool } from 'everlap';
import { EverlapClient } from 'everlap/client';
import { call, startScriptedModel, text } from 'everlap/testing';
import { createWorker, everlapBundle, openaiChat } from 'everlap/worker';
import { z } from 'zod';
import { startDevServer } from '../src/dev/dev-server.js';
import { bytesOf, eventsOf, executionsOf } from '../test/support/history.js';

const { values } = parseArgs({
  options: {
    turns: { type: 'string', default: '10000' },
    /** Characters of each tool result. */
    result: { type: 'string', default: '2000' },
    /** Tokens of the model's window: the conversation is compacted at 80 % of it. */
    window: { type: 'string', default: '60000' },
  },
});
const turns = Number(values.turns);
const resultChars = Number(values.result);

Runtime.install({ logger: new DefaultLogger('ERROR') });
const folder = await mkdtemp(join(tmpdir(), 'everlap-soak-'));
const server = await startDevServer();
let answered = 0;
const model = await startScriptedModel({
  keepBodies: 1,
  // A request without tools asks for a summary.
  script: ({ body }) => {
    if (body['tools'] === undefined) return text('The pages so far were read; nothing was found.');
    answered += 1;
    return answered < turns ? call('read_page', { page: answered }) : text('Read.');
  },
});
const tool = defineTool({
  name: 'read_page',
  description: 'Reads a page.',
  input: z.object({ page: z.number() }),
  effects: 'none',
  execute: ({ page }) => `${page}:`.padEnd(resultChars, 'x'),
});
const agent = defineAgent({
  name: 'reader',
  instructions: 'You read pages.',
  model: 'gpt-5-mini',
  tools: [tool],
  limits: { turns: turns + 1 },
  context: { window: Number(values.window) },
});
const connection = await NativeConnection.connect({ address: server.address });
const taskQueue = `soak-${randomUUID()}`;
const worker = await createWorker({
  agents: [agent],
  connection,
  taskQueue,
  provider: openaiChat({ baseUrl: model.baseUrl, apiKey: 'scripted' }),
  workspaces: join(folder, 'workspaces'),
});
const running = worker.run();
const clientConnection = await Connection.connect({ address: server.address });
const client = new Client({ connection: clientConnection });
const run = await new EverlapClient({ client, taskQueue }).start({ agent, task: 'Read all pages.' });

let peakRss = 0;
const begun = Date.now();
const watch = setInterval(() => {
  const rss = process.memoryUsage().rss / 2 ** 20;
  peakRss = Math.max(peakRss, rss);
}, 500);
const progress = setInterval(() => {
  console.error(`${answered} of ${turns} turns, ${Math.round(process.memoryUsage().rss / 2 ** 20)} MB`);
}, 30_000);
const result = await run.result();
clearInterval(watch);
clearInterval(progress);
const seconds = (Date.now() - begun) / 1000;
const { compactions } = await run.state();

const executions = await executionsOf(client, run.id);
let [events, bytes] = [0, 0];
const failures: string[] = [];
const tailEvents: number[] = [];
for (const runId of executions) {
  const history = await eventsOf(client, run.id, runId);
  events += history.length;
  tailEvents.push(history.length);
  bytes += history.reduce((sum, event) => sum + bytesOf(event), 0);
  try {
    const whole = temporal.api.history.v1.History.fromObject({ events: history });
    await Worker.runReplayHistory({ workflowBundle: everlapBundle() }, whole, run.id);
  } catch (error) {
    failures.push(`${runId}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

const whole = (value: number): string => Math.round(value).toLocaleString('en');
console.log(`| what | figure |
| --- | --- |
| turns | ${whole(result.turns)} |
| ended | ${result.status}, ${result.reason} |
| executions | ${executions.length} (${whole(Math.max(...tailEvents))} events in the largest) |
| events a turn | ${(events / result.turns).toFixed(1)} |
| history bytes a turn, carried conversations counted in | ${whole(bytes / result.turns)} |
| compactions | ${compactions} |
| milliseconds a turn | ${((seconds * 1000) / result.turns).toFixed(1)} |
| memory of the process at its peak (worker, client, model) | ${whole(peakRss)} MB |
| executions that replay | ${executions.length - failures.length} of ${executions.length} |`);
for (const failure of failures) console.error(failure);
if (failures.length > 0 || result.status !== 'completed' || result.turns !== turns) process.exitCode = 1;

worker.shutdown();
await running;
await Promise.all([connection.close(), clientConnection.close(), model.close()]);
await rm(folder, { recursive: true, force: true });
await server.stop();
