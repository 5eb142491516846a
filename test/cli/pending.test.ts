/** `everlap pending`, as a process: whom it asks, and what it says that it has not looked at. */
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { call, calls, gate, text } from 'everlap/testing';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { eventually } from '../support/rig.js';
import { AGENT, jsonLines, startCliRig, type CliRig, type Finished } from './support.js';

vi.setConfig({ testTimeout: 180_000 });
const never = gate();
let rig: CliRig;
let connection: Connection;
/** Without search attributes, and with nobody else's runs. */
const BARE = ['--namespace', `bare-${randomUUID()}`] as const;

const pay = (id: string): { name: string; arguments: { usd: number }; id: string } => ({
  name: 'pay',
  arguments: { usd: 5 },
  id,
});

beforeAll(async () => {
  rig = await startCliRig({
    'pause me': [calls([pay('first'), pay('second')]), text('Done.')],
    'pay often': [calls(Array.from({ length: 32 }, (_, at) => pay(`n${at}`))), text('Done.')],
    'ask the clerk': [call('clerk', { task: 'pay below' }), text('Done.')],
    'pay below': [calls([pay('below')]), text('Paid.')],
    'pay once': [calls([pay('once')]), text('Done.')],
    'sit there': [text('Late.', { waitFor: never })],
  });
  await writeFile(
    join(rig.folder, 'everlap.config.ts'),
    `import { agentTool, askHuman, defineAgent, defineConfig, defineTool } from 'everlap';
const pay = defineTool({ name: 'pay', description: 'Pays.', parameters: { type: 'object', properties: { usd: { type: 'number' } } }, approval: 'always', execute: ({ usd }) => 'paid ' + usd });
const clerk = defineAgent({ name: 'clerk', instructions: 'Pay.', model: 'scripted', tools: [pay] });
const agent = defineAgent({ name: '${AGENT}', instructions: 'Pay.', model: 'scripted', tools: [pay, askHuman(), agentTool(clerk, { name: 'clerk', description: 'Pays.' })] });
export default defineConfig({ agents: [agent], taskQueue: '${rig.taskQueue}' });
`,
  );
  connection = await Connection.connect({ address: rig.address });
  await connection.workflowService.registerNamespace({
    namespace: BARE[1],
    workflowExecutionRetentionPeriod: msToTs('1 day'),
  });
  await eventually(() => connection.workflowService.describeNamespace({ namespace: BARE[1] }), 'the namespace');
  await rig.startWorker();
});
afterAll(async () => {
  never.open();
  await connection.close();
  await rig.stop();
});

const idOf = (name: string): string => `${name}-${rig.taskQueue}`;

async function startRun(task: string, name: string, ...args: readonly string[]): Promise<string> {
  const id = idOf(name);
  expect(await rig.run('run', AGENT, task, '--id', id, '--detach', ...args)).toMatchObject({ code: 0 });
  return id;
}

/** `pending`, again and again: runs are listed some moments after they began. */
async function pendingUntil(done: (said: Finished) => boolean, ...args: readonly string[]): Promise<Finished> {
  return eventually(
    async () => {
      const said = await rig.run('pending', ...args);
      return done(said) && said;
    },
    'what waits',
    90_000,
  );
}

const rowsOf = ({ stdout }: Finished): ReturnType<typeof jsonLines> => (stdout === '' ? [] : jsonLines(stdout));

it('lists what waits in a run that is paused', async () => {
  const id = await startRun('pause me', 'paused');
  const { workflow } = new Client({ connection });
  await pendingUntil((said) => rowsOf(said).filter((row) => row['id'] === id).length === 2, '--json');
  await workflow.getHandle(id).signal('pause');
  // It pauses before the call that was approved; the other one waits on.
  expect((await rig.run('approve', id, 'first')).code).toBe(0);
  const paused = `WorkflowId = '${id}' AND EverlapStatus = 'paused'`;
  await eventually(async () => (await workflow.count(paused)).count === 1, 'it to be listed as paused');
  const said = await rig.run('pending', '--json');
  expect(rowsOf(said).filter((row) => row['id'] === id)).toMatchObject([{ callId: 'second' }]);
});

it('lists a call of a run below once, where it waits, and says how to decide it', async () => {
  const id = await startRun('ask the clerk', 'chief');
  const isBelow = (row: Readonly<Record<string, unknown>>): boolean => row['callId'] === 'below';
  // The run below may be listed a moment later than the one that has called it.
  const said = await pendingUntil((now) => rowsOf(now).some((row) => isBelow(row) && row['id'] !== id), '--json');
  expect(rowsOf(said).filter(isBelow)).toEqual([
    expect.objectContaining({ agent: 'clerk', id: expect.stringContaining(id) as unknown }) as unknown,
  ]);
  const below = String(rowsOf(said).find(isBelow)?.['id']);
  // At the run above: with the run that waits, before the arguments.
  const state = await rig.run('state', id);
  expect(state.stdout).toContain(`below  --run ${below}  approval: pay {"usd":5}\n`);
  expect((await rig.run('approve', id, 'below', '--run', below)).code).toBe(0);
});

it('says how many of a run are not shown', async () => {
  const id = await startRun('pay often', 'often');
  const said = await pendingUntil(({ stderr }) => stderr.includes(id));
  expect(said.stdout.split('\n').filter((line) => line.startsWith(`${id}  n`))).toHaveLength(30);
  expect(said.stderr).toContain(`In the run ${id} 2 more wait; they are shown as others are decided.`);
  expect((await rig.run('state', id)).stdout).toContain('2 more, shown as others are decided');
});

it('does not say that nothing waits where it has not looked everywhere', async () => {
  const worker = rig.start(['worker', ...BARE]);
  await worker.waitFor(/Worker polls/);
  expect(await rig.run('pending', ...BARE)).toEqual({ code: 0, stderr: '', stdout: 'Nothing waits for a person.\n' });
  const id = await startRun('pay once', 'once', ...BARE);
  await pendingUntil(({ stdout }) => stdout.startsWith(`${id}  once  approval: pay`), ...BARE);
  const newer = await startRun('sit there', 'newer', ...BARE);
  await eventually(async () => (await rig.run('list', ...BARE)).stdout.includes(newer), 'the newer run to be listed');
  expect(await rig.run('pending', '--limit', '1', ...BARE)).toEqual({
    code: 0,
    stderr: 'There are more running runs than the newest 1, and only those were looked at; see --limit.\n',
    stdout: 'Nothing waits for a person in the runs that were looked at.\n',
  });
});

it('fails where a run could not be asked, since no worker is there', async () => {
  const id = idOf('nobody');
  const queue = ['--task-queue', `nobody-${rig.taskQueue}`];
  expect(await rig.run('run', AGENT, 'pay once', '--id', id, '--detach', ...queue, ...BARE)).toMatchObject({ code: 0 });
  await eventually(async () => (await rig.run('list', ...BARE)).stdout.includes(id), 'the run to be listed');
  expect(await rig.run('pending', '--limit', '1', ...BARE)).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(
      /^1 run cannot answer, since no worker polls the task queue "nobody-.*\n(.*\n)?everlap: 1 run of 1 could not be asked; .*\.\n$/,
    ) as unknown,
  });
});
