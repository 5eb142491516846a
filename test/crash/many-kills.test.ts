/** SCENARIO 37, many times in one run: workers killed at random, two that take turns, the Temporal server itself, SIGTERM. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { call, gate, text, type ScriptedModelOptions } from 'everlap/testing';
import { expect, onTestFinished, test } from 'vitest';
import { startDevServer } from '../../src/dev/dev-server.js';
import { eventually } from '../support/rig.js';
import { startCrashRig, turnOf, type CrashRig } from './crash-rig.js';
import { unharmed, working } from './long-run.js';

const KILLS = 20;
const SEED = 20_260_801;

async function startRig(script: ScriptedModelOptions, address?: string): Promise<CrashRig> {
  const rig = await startCrashRig(script, address);
  onTestFinished(() => rig.stop());
  return rig;
}

/** Mulberry32: small and good enough to spread kills. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

test(`a worker is killed ${KILLS} times in one run, at random moments`, async () => {
  const chance = random(SEED);
  const work = working();
  const rig = await startRig(work);
  let worker = await rig.worker();
  const run = await rig.start();
  const steered: string[] = [];
  for (let kill = 1; kill <= KILLS; kill += 1) {
    await sleep(chance() * 1500);
    steered.push(`steer ${kill}`);
    // The next worker is on its way already when this one dies; now and then the words come while nobody is there.
    const next = rig.worker();
    if (chance() < 0.5) await run.temporal.signal('steer', `steer ${kill}`);
    else await run.steer(`steer ${kill}`);
    await worker.kill();
    worker = await next;
  }
  work.end();
  await unharmed(rig, run, steered);
}, 600_000);

test('two workers take turns: each is killed while the other works on', async () => {
  const work = working();
  const rig = await startRig(work);
  const workers = await Promise.all([rig.worker(), rig.worker()]);
  const run = await rig.start();
  const steered: string[] = [];
  for (let round = 0; round < 4; round += 1) {
    const before = rig.model.requests.length;
    await rig.model.waitForRequest(before + 2);
    steered.push(`round ${round}`);
    await run.temporal.signal('steer', `round ${round}`);
    await workers[round % 2]?.kill();
    workers[round % 2] = await rig.worker();
  }
  work.end();
  await unharmed(rig, run, steered);
}, 300_000);

test('the Temporal server itself is killed in mid-run and started again on its database file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'everlap-server-'));
  const dbFile = join(folder, 'temporal.db');
  let server = await startDevServer({ dbFile });
  const { port } = server;
  onTestFinished(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const work = working();
  const rig = await startRig(work, server.address);
  await rig.worker();
  const run = await rig.start();
  const steered: string[] = [];
  for (let time = 0; time < 2; time += 1) {
    await rig.model.waitForRequest(rig.model.requests.length + 2);
    steered.push(`time ${time}`);
    await run.temporal.signal('steer', `time ${time}`);
    await server.kill();
    server = await startDevServer({ dbFile, port });
  }
  await rig.model.waitForRequest(rig.model.requests.length + 2);
  work.end();
  await unharmed(rig, run, steered);
}, 300_000);

test('SIGTERM: the worker ends by itself with exit code 0; its model call is made again at once by the next one', async () => {
  const answer = gate();
  const rig = await startRig({
    script: (request) => (request.index === 0 ? text('Never seen.', { waitFor: answer }) : text('Done.')),
  });
  const worker = await rig.worker();
  const idle = await rig.worker();
  const run = await rig.start();
  await rig.model.waitForRequest(0);
  const ended = Promise.all([worker.terminate(), idle.terminate()]);
  expect((await rig.model.waitForClosed(0)).closed).toBe('by client');
  expect(await ended).toEqual([0, 0]);
  await rig.worker();
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'Done.' });
  expect(rig.model.requests).toHaveLength(2);
  answer.open();
}, 120_000);

test('SIGTERM while a tool runs that never returns: the worker ends all the same, with exit code 0', async () => {
  const rig = await startRig({
    script: (request) => (turnOf(request) === 1 ? call('never', { n: 1 }) : text('Done.')),
  });
  const worker = await rig.worker();
  const run = await rig.start();
  await eventually(async () => (await rig.effects('never')).length > 0, 'the tool');
  expect(await worker.terminate()).toBe(0);
  const next = await rig.worker();
  await run.forceFinish({ output: 'Enough.' });
  expect(await next.terminate()).toBe(0);
  await run.cancel();
  await rig.worker();
  expect((await run.result()).status).toMatch(/stopped|cancelled/);
}, 120_000);
