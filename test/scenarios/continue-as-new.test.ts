/** SCENARIO 39: a run that continues as new again and again loses and doubles nothing, however it is spoken to. */
import { randomUUID } from 'node:crypto';
import type { RunHandle } from 'everlap/client';
import { call, text, type RecordedRequest, type Step } from 'everlap/testing';
import { defineTool } from 'everlap';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { startDevServer, type DevServer } from '../../src/dev/dev-server.js';
import { eventsOf, executionsOf } from '../support/history.js';
import { eventually, startRig, type Rig } from '../support/rig.js';

const TEXTS = 200;
/** At least this often while the texts come. */
const CONTINUATIONS = 5;

let server: DevServer;
let rig: Rig;
beforeAll(async () => {
  // A turn has some 12 events: a new execution every few turns.
  server = await startDevServer({ dynamicConfig: ['limit.historyCount.suggestContinueAsNew=60'] });
});
afterEach(() => rig.stop());
afterAll(() => server.stop());

/** A run that works on until it is told to end. */
async function workingRun(): Promise<{ run: RunHandle; end: () => void }> {
  let ending = false;
  const mark = defineTool({
    name: 'mark',
    description: 'Leaves a mark.',
    input: z.object({ n: z.number() }),
    effects: 'none',
    execute: ({ n }) => `mark ${n}`,
  });
  const script = ({ messages }: RecordedRequest): Step =>
    ending ? text('Done.') : call('mark', { n: messages.filter(({ role }) => role === 'assistant').length });
  rig = await startRig({
    address: server.address,
    keepBodies: 1,
    agent: { tools: [mark], limits: { turns: 5000 }, context: { window: 10_000_000 } },
    script,
  });
  const run = await rig.start({ id: `run-${randomUUID()}` });
  return { run, end: () => (ending = true) };
}

/** The numbered texts of all steering in the conversation, in its order. */
async function steered(run: RunHandle): Promise<string[]> {
  const messages = await run.messages();
  const all = messages.filter((message) => message.role === 'user' && message.kind === 'steering');
  return all.flatMap(({ text: words }) => words.split('\n\n').map((line) => line.replace('[STEERING] ', '')));
}

const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `text ${i}`);

test.each(['signals', 'updates', 'mixed'] as const)(
  `${TEXTS} numbered texts (%s) over ${CONTINUATIONS} continuations: all of them, once each, in order`,
  async (how) => {
    const { run, end } = await workingRun();
    const texts = numbered(TEXTS);
    for (const [i, words] of texts.entries()) {
      if (how === 'signals' || (how === 'mixed' && i % 2 === 0)) await run.temporal.signal('steer', words);
      else await run.steer(words);
      // Spread over the continuations, not over the clock.
      if (i % (TEXTS / CONTINUATIONS) === 0) {
        const wanted = Math.floor(i / (TEXTS / CONTINUATIONS));
        await eventually(
          async () => (await executionsOf(rig.temporal, run.id)).length > wanted,
          `continuation ${wanted}`,
        );
      }
    }
    await eventually(async () => (await executionsOf(rig.temporal, run.id)).length > CONTINUATIONS);
    end();
    expect(await run.result()).toMatchObject({ status: 'completed', unconsumedSteering: [] });
    expect(await steered(run)).toEqual(texts);
    expect((await executionsOf(rig.temporal, run.id)).length).toBeGreaterThan(CONTINUATIONS);
  },
  240_000,
);

test('a storm of signals and updates, as fast as they go: none is lost or doubled, and it does not hold a continuation off', async () => {
  const { run, end } = await workingRun();
  const sent: string[] = [];
  let storming = true;
  const sender = async (name: string, send: (words: string) => Promise<unknown>): Promise<void> => {
    for (let i = 0; storming; i += 1) {
      const words = `${name} ${i}`;
      await send(words);
      sent.push(words);
    }
  };
  // Outside of a session follow-ups wait for the end: a few of them, each of which is a turn then.
  const followUps: string[] = [];
  const follower = async (): Promise<void> => {
    for (let i = 0; storming && i < 60; i += 1) {
      await run.followUp(`follow ${i}`);
      followUps.push(`follow ${i}`);
    }
  };
  const senders = [1, 2].flatMap((n) => [
    sender(`signal ${n}`, (words) => run.temporal.signal('steer', words)),
    sender(`update ${n}`, (words) => run.steer(words)),
  ]);
  senders.push(follower());
  // No quiet moment comes: each continuation has to happen in the middle of it.
  await eventually(
    async () => (await executionsOf(rig.temporal, run.id)).length > CONTINUATIONS,
    'continuations',
    120_000,
  );
  storming = false;
  await Promise.all(senders);
  end();
  expect(await run.result()).toMatchObject({ status: 'completed', unconsumedSteering: [] });
  const followed = (await run.messages()).filter((message) => message.role === 'user' && message.kind === 'follow_up');
  expect(followed.map((message) => message.text)).toEqual(followUps);
  const arrived = await steered(run);
  expect([...arrived].sort()).toEqual([...sent].sort());
  for (const name of ['signal 1', 'signal 2', 'update 1', 'update 2']) {
    const own = arrived.filter((words) => words.startsWith(`${name} `));
    expect(own).toEqual(own.map((_, i) => `${name} ${i}`));
  }
}, 300_000);

test('handles, queries and updates need no execution id and notice nothing of a continuation', async () => {
  const { run, end } = await workingRun();
  const first = await eventually(async () => (await executionsOf(rig.temporal, run.id))[0]);
  await eventually(async () => (await executionsOf(rig.temporal, run.id)).length > 2, 'continuations');
  // A handle made by whoever started it, and one made now, speak to the same run.
  const other = rig.client.handle(run.id);
  expect(await other.pause()).toMatchObject({ status: 'paused' });
  const [mine, theirs] = [await run.state(), await other.state()];
  expect(theirs).toEqual({ ...mine, limits: theirs.limits });
  expect(mine.transition).toBeDefined();
  expect(await run.steer('one')).toMatchObject({ position: 1 });
  expect(await other.setLimits({ turns: 4000 })).toMatchObject({ turns: { limit: 4000 } });
  const messages = await run.messages();
  expect(messages[0]).toMatchObject({ kind: 'task' });
  expect(messages.filter(({ role }) => role === 'assistant')).toHaveLength(mine.turn);
  await other.resume();
  end();
  expect(await run.result()).toMatchObject({ status: 'completed', reason: 'answered' });
  expect(await steered(run)).toEqual(['one']);
  // The first execution alone, by its id, ended by going on.
  const last = (await eventsOf(rig.temporal, run.id, first)).at(-1);
  expect(last?.workflowExecutionContinuedAsNewEventAttributes).toBeTruthy();
}, 120_000);
