/** SCENARIO 37, at continue-as-new: the worker is killed in the moment in which the run goes on in a new execution. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startDevServer, type DevServer } from '../../src/dev/dev-server.js';
import { executionsOf } from '../support/history.js';
import { startCrashRig } from './crash-rig.js';
import { unharmed, working } from './long-run.js';

let server: DevServer;
beforeAll(async () => {
  server = await startDevServer({ dynamicConfig: ['limit.historyCount.suggestContinueAsNew=60'] });
});
afterAll(() => server.stop());

test('killed at each of three continuations: the new execution goes on where the old one was', async () => {
  const work = working();
  const rig = await startCrashRig(work, server.address);
  onTestFinished(() => rig.stop());
  let worker = await rig.worker();
  const run = await rig.start();
  const steered: string[] = [];
  for (let kill = 1; kill <= 3; kill += 1) {
    const execution = (await executionsOf(rig.temporal, run.id)).at(-1);
    // Rejects when the execution has continued as new, as soon as the server knows.
    await rig.temporal.workflow
      .getHandle(run.id, execution, { followRuns: false })
      .result()
      .catch(() => undefined);
    const dead = worker.kill();
    steered.push(`kill ${kill}`);
    await run.temporal.signal('steer', `kill ${kill}`);
    await dead;
    worker = await rig.worker();
  }
  work.end();
  await unharmed(rig, run, steered);
  expect((await executionsOf(rig.temporal, run.id)).length).toBeGreaterThan(3);
}, 240_000);
