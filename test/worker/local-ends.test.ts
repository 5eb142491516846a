/** Local activities end in a quiet moment of their workers, and wait for none for ever. */
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { defineTool } from 'everlap';
import { call, text } from 'everlap/testing';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { LocalEnds } from '../../src/worker/local-ends.js';
import { startRig } from '../support/rig.js';

/** A worker that has so many activations under way, look after look; then the last number for ever. */
function worker(...looks: number[]) {
  let count = 0;
  const getStatus = () => {
    const numInFlightWorkflowActivations = looks[Math.min(count, looks.length - 1)] ?? 0;
    count += 1;
    return { numInFlightWorkflowActivations };
  };
  return { getStatus, looks: () => count };
}

function activity(ends: LocalEnds, isLocal: boolean, work: () => Promise<string>): Promise<string> {
  const interceptors = ends.interceptors.activity ?? [];
  const environment = new MockActivityEnvironment({ isLocal }, { interceptors, logger: new DefaultLogger('ERROR') });
  return environment.run(work);
}

const quick = (): Promise<string> => Promise.resolve('done');

test('a local activity ends when no activation is under way', async () => {
  const ends = new LocalEnds(60_000);
  const busy = worker(2, 1, 0);
  ends.workerStarts(busy);
  expect(await activity(ends, true, quick)).toBe('done');
  expect(busy.looks()).toBe(3);
});

test('one that fails does so too', async () => {
  const ends = new LocalEnds(60_000);
  const busy = worker(1, 0);
  ends.workerStarts(busy);
  await expect(activity(ends, true, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(busy.looks()).toBe(2);
});

test('it looks at all workers that run, and at no others', async () => {
  const ends = new LocalEnds(60_000);
  const [gone, idle, busy] = [worker(1), worker(0), worker(1, 0)];
  ends.workerStarts(gone)();
  ends.workerStarts(idle);
  ends.workerStarts(busy);
  await activity(ends, true, quick);
  expect([gone.looks(), busy.looks()]).toEqual([0, 2]);
});

test('a worker that is busy for ever does not hold it up for ever', async () => {
  const ends = new LocalEnds();
  ends.workerStarts(worker(1));
  expect(await activity(ends, true, quick)).toBe('done');
});

test('an ordinary activity waits for nothing', async () => {
  const ends = new LocalEnds(60_000);
  const busy = worker(1);
  ends.workerStarts(busy);
  expect(await activity(ends, false, quick)).toBe('done');
  expect(busy.looks()).toBe(0);
});

test('so do the local tools of a worker', async () => {
  const peek = defineTool({
    name: 'peek',
    description: 'Looks.',
    input: z.object({}),
    effects: 'none',
    execution: 'local',
    execute: () => 'seen',
  });
  const rig = await startRig({ agent: { tools: [peek] }, script: [call('peek'), text('Done.')], startWorker: false });
  try {
    const running = await rig.startWorker();
    const looks = vi.spyOn(running.worker, 'getStatus');
    expect(await (await rig.start()).result()).toMatchObject({ output: 'Done.' });
    expect(looks).toHaveBeenCalled();
  } finally {
    await rig.stop();
  }
});
