/**
 * What a parked run costs in a worker's memory: many runs that wait for a person, each with a conversation of 75 KB,
 * beside a bare workflow that keeps as much. Each kind is measured in a process of its own, after a garbage collection.
 * `--runs 1000`
 */
import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { askHuman, defineAgent } from 'everlap';
import { call, startScriptedModel } from 'everlap/testing';
import { createWorker, openaiChat } from 'everlap/worker';
import { startDevServer } from '../src/dev/dev-server.js';

const CONVERSATION_CHARS = 75_000;
const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '1000' },
    kind: { type: 'string' },
    address: { type: 'string' },
    model: { type: 'string' },
  },
});
const runs = Number(values.runs);
Runtime.install({ logger: new DefaultLogger('ERROR') });

if (values.kind === undefined) await compare();
else await measure(values.kind, values.address ?? '', values.model ?? '');

/** Starts what both kinds need, and a process for each. */
async function compare(): Promise<void> {
  const server = await startDevServer();
  const model = await startScriptedModel({ keepBodies: 1, script: () => call('ask_human', { question: 'Well?' }) });
  const perRun: Record<string, number> = {};
  for (const kind of ['bare', 'everlap']) {
    const args = ['--kind', kind, '--runs', String(runs), '--address', server.address, '--model', model.baseUrl];
    const child = fork(fileURLToPath(import.meta.url), args, { execArgv: [...process.execArgv, '--expose-gc'] });
    child.on('message', (mb) => (perRun[kind] = Number(mb)));
    await once(child, 'exit');
  }
  console.log(
    `${runs} parked runs with conversations of ${CONVERSATION_CHARS / 1000} KB, MB of memory a run above idle\n`,
  );
  console.log('| kind | MB a run |\n| --- | --- |');
  for (const [kind, mb] of Object.entries(perRun)) console.log(`| ${kind} | ${mb.toFixed(2)} |`);
  await model.close();
  await server.stop();
}

/** Parks the runs in this process and tells its parent how much each takes. */
async function measure(kind: string, address: string, modelUrl: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'everlap-memory-'));
  const connection = await NativeConnection.connect({ address });
  const clientConnection = await Connection.connect({ address });
  const client = new Client({ connection: clientConnection });
  const taskQueue = `memory-${randomUUID()}`;
  const options = { maxCachedWorkflows: runs + 10 };
  const task = 'x'.repeat(CONVERSATION_CHARS);
  const agent = defineAgent({ name: 'waiter', instructions: 'Ask.', model: 'gpt-5-mini', tools: [askHuman()] });
  const worker =
    kind === 'bare'
      ? await Worker.create({
          ...options,
          connection,
          taskQueue,
          workflowBundle: await bundleWorkflowCode({
            workflowsPath: fileURLToPath(new URL('./parked.ts', import.meta.url)),
            logger: new DefaultLogger('ERROR'),
          }),
        })
      : await createWorker({
          agents: [agent],
          connection,
          taskQueue,
          provider: openaiChat({ baseUrl: modelUrl, apiKey: 'scripted' }),
          // The cache of conversations has a bound of its own: it is not what is measured.
          cacheBytes: 1_000_000,
          workspaces: join(folder, 'workspaces'),
          worker: options,
        });
  const running = worker.run();
  // One of them first, so that what all runs share is there before the idle worker is measured.
  const ids = [await park()];
  await settled(ids);
  const idle = memoryNow();
  while (ids.length <= runs) ids.push(...(await Promise.all(Array.from({ length: 10 }, park))));
  await settled(ids);
  process.send?.((memoryNow() - idle) / (ids.length - 1));
  await Promise.all(ids.map((id) => client.workflow.getHandle(id).terminate()));
  worker.shutdown();
  await running;
  await Promise.all([connection.close(), clientConnection.close()]);
  await rm(folder, { recursive: true, force: true });
  process.disconnect?.();

  async function park(): Promise<string> {
    const input = kind === 'bare' ? [task] : [{ agent: 'waiter', task }];
    const workflowId = `memory-${randomUUID()}`;
    await client.workflow.start(kind === 'bare' ? 'parked' : 'agentRun', { taskQueue, workflowId, args: input });
    return workflowId;
  }

  /** Waits until each run stands still: one query to each tells. */
  async function settled(all: readonly string[]): Promise<void> {
    for (const id of all) {
      for (;;) {
        // A worker that is busy with the others may not get to it in time.
        const state = await client.workflow
          .getHandle(id)
          .query<{ status: string }>('state')
          .catch(() => undefined);
        if (state?.status === 'waiting') break;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }
}

/** MB of the process, heap of the workflow threads included, after a garbage collection. */
function memoryNow(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage().rss / 2 ** 20;
}
