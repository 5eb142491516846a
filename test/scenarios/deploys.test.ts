/** Deploys with worker versioning: a run keeps to the version it began with, and moves on between turns and laps. */
import { randomUUID } from 'node:crypto';
import { defineAgent, defineTool, type AgentOptions } from 'everlap';
import type { RunHandle } from 'everlap/client';
import { call, gate, text, type Gate, type RecordedRequest, type Step } from 'everlap/testing';
import type { CreateWorkerOptions } from 'everlap/worker';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { eventsOf, executionsOf } from '../support/history.js';
import { eventually, startRig, type Rig } from '../support/rig.js';

let rig: Rig;
let deploymentName: string;
beforeEach(() => {
  deploymentName = `agents-${randomUUID()}`;
});
afterEach(() => rig.stop());

/** A worker of a version: its tool and its instructions say which. */
async function workerOf(
  buildId: string,
  { answer = () => '', ...fields }: Partial<AgentOptions> & { readonly answer?: (n: number) => string } = {},
  more: Partial<CreateWorkerOptions> = {},
): Promise<void> {
  const which = defineTool({
    name: 'which',
    description: 'Which version runs.',
    input: z.object({ n: z.number() }),
    effects: 'none',
    execute: ({ n }) => `${buildId}${answer(n)}`,
  });
  const agent = defineAgent({
    name: 'tester',
    instructions: `You are of version ${buildId}.`,
    model: 'gpt-5-mini',
    tools: [which],
    ...fields,
  });
  await rig.startWorker({ agents: [agent], deployment: { deploymentName, buildId }, ...more });
}

/** Refused by the server until a worker of the version polls. */
async function makeCurrent(buildId: string): Promise<void> {
  const { namespace } = rig.temporal.options;
  const { workflowService } = rig.temporal;
  await eventually(async () => {
    await workflowService.setWorkerDeploymentCurrentVersion({ namespace, deploymentName, buildId });
    return true;
  });
}

/** Asks which version it is, until it is told to end; stands still before its third turn. */
function asking(): {
  readonly script: (request: RecordedRequest) => Step;
  readonly hold: Gate;
  readonly end: () => void;
} {
  const hold = gate();
  let ending = false;
  return {
    hold,
    end: () => (ending = true),
    script: ({ messages }) => {
      const n = messages.filter(({ role }) => role === 'assistant').length + 1;
      if (ending) return text('Done.');
      return n === 3 ? { ...call('which', { n }), waitFor: hold } : call('which', { n });
    },
  };
}

async function answersOf(run: RunHandle): Promise<string[]> {
  return (await run.messages()).filter(({ role }) => role === 'tool').map(({ text: said }) => said.slice(0, 2));
}

async function versioningOf(run: RunHandle): Promise<unknown> {
  const { raw } = await run.temporal.describe();
  const { deploymentVersion, behavior } = raw.workflowExecutionInfo?.versioningInfo ?? {};
  return { buildId: deploymentVersion?.buildId, behavior };
}
const PINNED = 1;

test('a pinned run ends its turn on the version it began with, then moves to the current one; nothing is lost', async () => {
  const { script, hold, end } = asking();
  rig = await startRig({ startWorker: false, script });
  await workerOf('v1');
  await makeCurrent('v1');
  const run = await rig.start();
  await hold.reached;
  expect(await versioningOf(run)).toEqual({ buildId: 'v1', behavior: PINNED });
  await workerOf('v2');
  await makeCurrent('v2');
  await run.steer('Hurry.');
  hold.open();
  await eventually(async () => (await answersOf(run)).includes('v2'), 'the move');
  end();
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'Done.', unconsumedSteering: [] });
  const answers = await answersOf(run);
  expect(answers.slice(0, 3)).toEqual(['v1', 'v1', 'v1']);
  expect(answers.join(' ')).toMatch(/^(v1 )+(v2 ?)+$/);
  expect(await versioningOf(run)).toEqual({ buildId: 'v2', behavior: PINNED });
  expect(await executionsOf(rig.temporal, run.id)).toHaveLength(2);
  const steering = (await run.messages()).filter((message) => message.role === 'user' && message.kind === 'steering');
  expect(steering).toHaveLength(1);
  // The definition is the run's own, whichever version has it.
  expect(rig.model.requests.map(({ messages }) => messages[0]?.content)).toEqual(
    rig.model.requests.map(() => 'You are of version v1.'),
  );
});

test('the next lap begins on the current version, with its definition where the agent says so', async () => {
  const hold = gate();
  const laps = { max: 3, until: { promise: 'ALL DONE' }, spec: 'per-lap' } as const;
  rig = await startRig({
    startWorker: false,
    script: [{ ...text('More to do.'), waitFor: hold }, call('which', { n: 1 }), text('ALL DONE')],
  });
  await workerOf('v1', { laps });
  await makeCurrent('v1');
  const run = await rig.start();
  await hold.reached;
  await workerOf('v2', { laps });
  await makeCurrent('v2');
  hold.open();
  expect(await run.result()).toMatchObject({ reason: 'promise_kept', laps: 2 });
  expect(await answersOf(run)).toEqual(['v2']);
  expect(rig.model.requests.map(({ messages }) => messages[0]?.content)).toEqual([
    'You are of version v1.',
    'You are of version v2.',
    'You are of version v2.',
  ]);
});

test('a deploy is no reason to compact: a run that is too large to be carried stays where it is for now', async () => {
  const { script, hold, end } = asking();
  rig = await startRig({ startWorker: false, script, keepBodies: 1 });
  // Three answers that are over what a payload may carry, and many small ones.
  const large = {
    answer: (n: number) => (n <= 3 ? '漢'.repeat(170_000) : ''),
    toolResult: { maxChars: 400_000 },
    context: { window: 100_000_000 },
  };
  await workerOf('v1', large);
  await makeCurrent('v1');
  const run = await rig.start();
  await hold.reached;
  await workerOf('v2', large);
  await makeCurrent('v2');
  hold.open();
  await eventually(async () => {
    const events = await eventsOf(rig.temporal, run.id);
    return events.find((event) => event.workflowTaskStartedEventAttributes?.targetWorkerDeploymentVersionChanged);
  }, 'the word of a new version');
  const { turn } = await run.state();
  await eventually(async () => (await run.state()).turn > turn + 2);
  end();
  expect(await run.result()).toMatchObject({ status: 'completed' });
  expect(await run.state()).toMatchObject({ compactions: 0 });
  expect(new Set(await answersOf(run))).toEqual(new Set(['v1']));
  expect(await executionsOf(rig.temporal, run.id)).toHaveLength(1);
});

test('a run that people have pinned to a version stays there, and does not continue as new for nothing', async () => {
  const { script, hold, end } = asking();
  rig = await startRig({ startWorker: false, script });
  await workerOf('v1');
  await makeCurrent('v1');
  const workflowId = `run-${randomUUID()}`;
  await rig.temporal.workflow.start('agentRun', {
    taskQueue: rig.taskQueue,
    workflowId,
    args: [{ agent: 'tester', task: 'Do it.' }],
    versioningOverride: { pinnedTo: { deploymentName, buildId: 'v1' } },
  });
  const run = rig.client.handle(workflowId);
  await hold.reached;
  await workerOf('v2');
  await makeCurrent('v2');
  hold.open();
  await eventually(async () => (await run.state()).turn >= 20);
  end();
  await run.result();
  expect(new Set(await answersOf(run))).toEqual(new Set(['v1']));
  expect(await executionsOf(rig.temporal, run.id)).toHaveLength(1);
});

test('with behavior AUTO_UPGRADE a run moves within its execution', async () => {
  const { script, hold, end } = asking();
  const of = (buildId: string) => ({ deployment: { deploymentName, buildId, behavior: 'AUTO_UPGRADE' } as const });
  rig = await startRig({ startWorker: false, script });
  await workerOf('v1', {}, of('v1'));
  await makeCurrent('v1');
  const run = await rig.start();
  await hold.reached;
  await workerOf('v2', {}, of('v2'));
  await makeCurrent('v2');
  hold.open();
  await eventually(async () => (await answersOf(run)).includes('v2'), 'the move');
  end();
  await run.result();
  expect(await executionsOf(rig.temporal, run.id)).toHaveLength(1);
});
