/**
 * A worker in a process of its own, for tests that kill it. Told by its environment: TEMPORAL_ADDRESS, OPENAI_BASE_URL,
 * CRASH_TASK_QUEUE, CRASH_FOLDER (effect logs and holds), CRASH_ROLE: all | workflows | activities.
 *
 * Each tool writes a line into `<tool>.log` when it begins and one when it has done its effect. It stands still before
 * its effect while there is a file `hold-before-<tool>`, and after it while there is `hold-after-<tool>`.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { NativeConnection, Worker } from '@temporalio/worker';
import { agentTool, defineAgent, defineTool } from 'everlap';
import { createWorker, EverlapPlugin, openaiChat } from 'everlap/worker';
import { z } from 'zod';

const { TEMPORAL_ADDRESS, OPENAI_BASE_URL, CRASH_TASK_QUEUE, CRASH_FOLDER, CRASH_ROLE } = process.env;

const log = (name, word, key) => appendFileSync(join(CRASH_FOLDER, `${name}.log`), `${word} ${key}\n`);
const held = async (place) => {
  while (existsSync(join(CRASH_FOLDER, `hold-${place}`))) await sleep(20);
};

function tool(name, options) {
  return defineTool({
    name,
    description: 'Leaves a mark.',
    input: z.object({ n: z.number() }),
    attempts: 100,
    async execute({ n }, { idempotencyKey, signal }) {
      log(name, 'begin', idempotencyKey);
      await held(`before-${name}`);
      if (signal.aborted) throw new Error('stopped');
      log(name, 'effect', idempotencyKey);
      await held(`after-${name}`);
      return `mark ${n}`;
    },
    ...options,
  });
}

const tools = [
  tool('read', { effects: 'none' }),
  tool('put', { effects: 'idempotent' }),
  tool('pay', { effects: 'once' }),
  tool('order', {
    effects: 'once',
    reconcile(key) {
      log('order', 'reconcile', key);
      const lines = readFileSync(join(CRASH_FOLDER, 'order.log'), 'utf8').split('\n');
      return lines.includes(`effect ${key}`) ? { done: true, result: 'it was ordered' } : { done: false };
    },
  }),
  tool('gated', { effects: 'once', approval: 'always' }),
  tool('local_read', { effects: 'none', execution: 'local' }),
  tool('long_read', { effects: 'none', execute: ({ n }) => `${n}:`.padEnd(4000, 'x') }),
  tool('never', {
    effects: 'idempotent',
    execute: () => {
      log('never', 'begin', '');
      return new Promise(() => setInterval(() => undefined, 1000));
    },
  }),
];

const common = {
  instructions: 'You leave marks.',
  model: { name: 'gpt-5-mini', attempts: 100 },
  heartbeatTimeout: '3 seconds',
  limits: { turns: 1000 },
};
const crasher = defineAgent({ name: 'crasher', tools, ...common });
const clerks = agentTool(crasher, { name: 'clerk', description: 'Does one task.' });
const agents = [crasher, defineAgent({ name: 'chief', tools: [clerks], ...common })];
const everlap = {
  agents,
  provider: openaiChat({ baseUrl: OPENAI_BASE_URL, apiKey: 'scripted' }),
  workspaces: join(CRASH_FOLDER, 'workspaces'),
};
const options = { stickyQueueScheduleToStartTimeout: '500ms' };

/** Leaves workflow tasks to others. */
class ActivitiesOnly extends EverlapPlugin {
  configureWorker(given) {
    const { workflowBundle: _, ...rest } = super.configureWorker(given);
    return rest;
  }
}

const connection = await NativeConnection.connect({ address: TEMPORAL_ADDRESS });
const shared = { connection, taskQueue: CRASH_TASK_QUEUE };
const worker =
  CRASH_ROLE === 'activities'
    ? await Worker.create({ ...shared, ...options, plugins: [new ActivitiesOnly(everlap)] })
    : await createWorker({
        ...shared,
        ...everlap,
        worker: { ...options, enableNonLocalActivities: CRASH_ROLE !== 'workflows' },
      });
console.log('ready');
await worker.run();
await connection.close();
process.exit(0);
