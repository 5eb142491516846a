/**
 * Time and history bytes of one turn: Everlap, in the bundle that it ships, beside two loops written by hand, on one server,
 * in one process, their runs taking turns. Prints a table and writes nothing. `--turns 100 --rounds 7 --address HOST:PORT`
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import {
  bundleWorkflowCode,
  DefaultLogger,
  NativeConnection,
  Runtime,
  Worker,
  type WorkerOptions,
} from '@temporalio/worker';
import { defineAgent, defineTool } from 'everlap';
import { call, startScriptedModel, text } from 'everlap/testing';
import { EverlapPlugin, openaiChat } from 'everlap/worker';
import { z } from 'zod';
import { startDevServer } from '../src/dev/dev-server.js';
import { bytesOf, eventsOf } from '../test/support/history.js';
import { ownActivities } from './own-activities.js';

const { values } = parseArgs({
  options: {
    turns: { type: 'string', default: '100' },
    rounds: { type: 'string', default: '7' },
    address: { type: 'string' },
  },
});
const turns = Number(values.turns);
const rounds = Number(values.rounds);

Runtime.install({ logger: new DefaultLogger('ERROR') });
const server = values.address === undefined ? await startDevServer() : undefined;
const address = values.address ?? server?.address;
const model = await startScriptedModel({
  keepBodies: 1,
  script: ({ messages }) => {
    const turn = messages.filter(({ role }) => role === 'assistant').length + 1;
    return turn < turns ? call('read_page', { page: turn }) : text('Read.');
  },
});
const page = (number: number): string => `${number}:`.padEnd(2000, 'x');
const input = z.object({ page: z.number() });
const description = 'Reads a page.';
const tool = defineTool({
  name: 'read_page',
  description,
  input,
  effects: 'none',
  execute: ({ page: number }) => page(number),
});
const local = defineTool({
  name: 'read_page',
  description,
  input,
  effects: 'none',
  execution: 'local',
  execute: ({ page: number }) => page(number),
});
const instructions = 'You read pages.';
const limits = { turns: turns + 1 };

const folder = await mkdtemp(join(tmpdir(), 'everlap-bench-'));
const connection = await NativeConnection.connect({ address });
const provider = openaiChat({ baseUrl: model.baseUrl, apiKey: 'scripted' });
const workerOf = async (taskQueue: string, one: typeof tool, bundle: Partial<WorkerOptions> = {}): Promise<Worker> =>
  Worker.create({
    connection,
    ...bundle,
    taskQueue,
    activities: ownActivities(model.baseUrl, ({ page: number }) => page(number)),
    plugins: [
      new EverlapPlugin({
        agents: [defineAgent({ name: 'reader', instructions, model: 'gpt-5-mini', tools: [one], limits })],
        provider,
        workspaces: join(folder, 'workspaces'),
      }),
    ],
  });
const workflowBundle = await bundleWorkflowCode({
  workflowsPath: fileURLToPath(new URL('./loops.ts', import.meta.url)),
  logger: new DefaultLogger('ERROR'),
});
const queues = { byHand: `bench-${randomUUID()}`, activity: `bench-${randomUUID()}`, local: `bench-${randomUUID()}` };
const workers = [
  await workerOf(queues.byHand, tool, { workflowBundle }),
  await workerOf(queues.activity, tool),
  await workerOf(queues.local, local),
];
const running = workers.map((worker) => worker.run());
const clientConnection = await Connection.connect({ address });
const client = new Client({ connection: clientConnection });

const contenders = [
  { name: 'bare loop, same activities', workflow: 'bareLoop', taskQueue: queues.byHand },
  { name: 'Everlap', workflow: 'agentRun', taskQueue: queues.activity },
  { name: "Everlap, tools 'local'", workflow: 'agentRun', taskQueue: queues.local },
  { name: 'whole conversation each call', workflow: 'wholeConversationLoop', taskQueue: queues.byHand },
];
interface Measured {
  readonly ms: number;
  readonly cpuMs: number;
  readonly serverMs: number;
  readonly bytes: number;
}
const measured = new Map<string, Measured[]>(contenders.map(({ name }) => [name, []]));

// The first round warms up and is not counted.
for (let round = 0; round <= rounds; round += 1) {
  const order = contenders
    .map((_, i) => contenders[(i + round) % contenders.length])
    .filter((one) => one !== undefined);
  for (const { name, workflow, taskQueue } of order) {
    const workflowId = `bench-${randomUUID()}`;
    const begun = performance.now();
    const [cpuBefore, serverBefore] = [process.cpuUsage(), await serverCpuMs()];
    await client.workflow.execute(workflow, {
      taskQueue,
      workflowId,
      args: [{ agent: 'reader', task: 'Read all pages.' }],
    });
    const ms = (performance.now() - begun) / turns;
    const { user, system } = process.cpuUsage(cpuBefore);
    const [cpuMs, serverMs] = [(user + system) / 1000 / turns, ((await serverCpuMs()) - serverBefore) / turns];
    const bytes = (await eventsOf(client, workflowId)).reduce((sum, event) => sum + bytesOf(event), 0) / turns;
    if (round > 0) measured.get(name)?.push({ ms, cpuMs, serverMs, bytes });
  }
}

/** Processor time of the server so far, where the system tells it (Linux, in hundredths of a second); else NaN. */
async function serverCpuMs(): Promise<number> {
  const stat = await readFile(`/proc/${server?.pid}/stat`, 'utf8').catch(() => '');
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  return (Number(user) + Number(system)) * 10;
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? NaN;
const base = measured.get('bare loop, same activities') ?? [];
console.log(`${turns} turns a run, ${rounds} runs each, medians; ratios of each round to the bare loop.\n`);
console.log(
  '| loop | ms a turn | beside the bare loop (lowest to highest) | CPU ms a turn, worker | server | history bytes a turn |',
);
console.log('| --- | --- | --- | --- | --- | --- |');
for (const [name, list] of measured) {
  const ratios = list.map(({ ms }, round) => ms / (base[round]?.ms ?? NaN));
  const spread = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
  const of = (field: keyof Measured): number => median(list.map((one) => one[field]));
  console.log(
    `| ${name} | ${of('ms').toFixed(1)} | ${median(ratios).toFixed(2)} (${spread}) | ${of('cpuMs').toFixed(1)} | ${of('serverMs').toFixed(1)} | ${Math.round(of('bytes')).toLocaleString('en')} |`,
  );
}

for (const worker of workers) worker.shutdown();
await Promise.all(running);
await Promise.all([connection.close(), clientConnection.close(), model.close()]);
await rm(folder, { recursive: true, force: true });
await server?.stop();
