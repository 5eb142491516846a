/** A long conversation, over several executions and a new worker: each message is in each later request once. */
import { randomUUID } from 'node:crypto';
import { text, type RecordedRequest } from 'everlap/testing';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { startDevServer, type DevServer } from '../../src/dev/dev-server.js';
import { executionsOf } from '../support/history.js';
import { startRig, type Rig, type RunningWorker } from '../support/rig.js';

const MESSAGES = 50;

let server: DevServer;
let rig: Rig;
beforeAll(async () => {
  server = await startDevServer({ dynamicConfig: ['limit.historyCount.suggestContinueAsNew=100'] });
});
afterEach(() => rig.stop());
afterAll(() => server.stop());

const users = ({ messages }: RecordedRequest): string[] =>
  messages.filter(({ role }) => role === 'user').map(({ content }) => String(content));
const words = (n: number): string => `message ${n}.`;
const first = (count: number): string[] => Array.from({ length: count }, (_, i) => words(i));

async function startChat(): Promise<RunningWorker> {
  rig = await startRig({
    address: server.address,
    strict: true,
    startWorker: false,
    agent: { session: {} },
    script: (request) => text(`Answer ${users(request).length - 1}.`),
  });
  return rig.startWorker();
}

test(`${MESSAGES} messages over three continuations and a new worker`, async () => {
  let worker = await startChat();
  const id = `chat-${randomUUID()}`;
  for (let i = 0; i < MESSAGES; i += 1) {
    const asked = rig.client.startWithFollowUp({ agent: rig.agent, id, followUp: words(i) });
    if (i === MESSAGES / 2) {
      await worker.stop();
      worker = await rig.startWorker();
    }
    expect((await asked).answer).toBe(`Answer ${i}.`);
  }
  // Asked for before the last message is answered, or aborted and asked again where the worker went: never other words.
  const asked = rig.model.requests.map(users);
  expect(asked.map((all) => all.length)).toEqual(asked.map((all) => all.length).toSorted((a, b) => a - b));
  for (const all of asked) expect(all).toEqual(first(all.length));
  expect((await executionsOf(rig.temporal, id)).length).toBeGreaterThan(3);
  const run = rig.client.handle(id);
  expect(await run.messages()).toHaveLength(2 * MESSAGES);
  await run.forceFinish();
  await run.result();
}, 180_000);

test('messages that wait while the run continues as new are answered all the same, by whoever asked', async () => {
  await startChat();
  const id = `chat-${randomUUID()}`;
  // Five at a time, so that there is always one under way, and updates are open at each continuation.
  const { run } = await rig.client.startWithFollowUp({ agent: rig.agent, id, followUp: 'hello' });
  let next = 0;
  const answers: (string | null)[] = [];
  const asker = async (): Promise<void> => {
    while (next < MESSAGES) {
      const reply = await run.followUp({ text: words((next += 1)), id: `m${next}` });
      if ('answer' in reply) answers.push(reply.answer);
    }
  };
  await Promise.all(Array.from({ length: 5 }, asker));
  expect(new Set(answers).size).toBe(MESSAGES);
  expect((await executionsOf(rig.temporal, id)).length).toBeGreaterThan(3);
  const said = (await run.messages()).filter(({ role }) => role === 'user').map(({ text: all }) => all);
  expect(said).toHaveLength(MESSAGES + 1);
  expect(new Set(said).size).toBe(MESSAGES + 1);
  await run.forceFinish();
  await run.result();
}, 180_000);
