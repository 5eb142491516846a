/** SCENARIO 40: another worker takes over in mid-run with an empty cache: one query, the same conversation byte for byte. */
import { defineTool } from 'everlap';
import { call, text, type RecordedRequest, type Step } from 'everlap/testing';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { startRig, type Rig } from '../support/rig.js';

const rigs: Rig[] = [];
afterEach(() => Promise.all(rigs.splice(0).map((rig) => rig.stop())));

const look = defineTool({
  name: 'look',
  description: 'Looks at something.',
  input: z.object({ n: z.number() }),
  effects: 'none',
  execute: ({ n }) => `Seen ${n}: "ünïcödé" 👀 \u2028 ${'x'.repeat(500)}`,
});

function script({ messages }: RecordedRequest): Step {
  const turn = messages.filter(({ role }) => role === 'assistant').length + 1;
  return turn < 6 ? call('look', { n: turn }, { text: `Turn ${turn} …`, reasoning: 'Hm.' }) : text('Done.');
}

async function rigOf(): Promise<Rig> {
  const rig = await startRig({ script, agent: { tools: [look] }, startWorker: false });
  rigs.push(rig);
  return rig;
}

/** A worker that counts the queries which its activities make. */
async function countingWorker(rig: Rig) {
  const queries: string[] = [];
  const worker = await rig.startWorker({
    worker: {
      interceptors: {
        client: {
          workflow: [
            {
              query: (input, next) => {
                queries.push(input.queryType);
                return next(input);
              },
            },
          ],
        },
      },
    },
  });
  return { worker, queries };
}

test('a worker with an empty cache asks the run once, and sends what the first worker would have sent', async () => {
  const undisturbed = await rigOf();
  const alone = await countingWorker(undisturbed);
  await (await undisturbed.start()).result();
  // Who has seen all of a run asks nothing.
  expect(alone.queries).toEqual([]);

  const rig = await rigOf();
  const first = await countingWorker(rig);
  const run = await rig.start();
  await rig.model.waitForRequest(2);
  await run.pause();
  const before = rig.model.requests.length;
  await first.worker.stop();
  const second = await countingWorker(rig);
  await run.resume();
  expect(await run.result()).toMatchObject({ status: 'completed', turns: 6 });

  expect(first.queries).toEqual([]);
  expect(second.queries).toEqual(['messages']);
  expect(before).toBeLessThan(6);
  const sent = rig.model.requests.map(({ body }) => JSON.stringify(body.messages));
  expect(sent).toEqual(undisturbed.model.requests.map(({ body }) => JSON.stringify(body.messages)));
});

test('a conversation of more than one page is asked for page by page, and nothing is missing', async () => {
  const page = defineTool({
    name: 'page',
    description: 'A long page.',
    input: z.object({ n: z.number() }),
    effects: 'none',
    execute: ({ n }) => `${n} `.repeat(90_000),
  });
  const rig = await startRig({
    agent: { tools: [page], toolResult: { maxChars: 400_000 }, context: { window: 10_000_000 } },
    script: ({ messages }) => {
      const turn = messages.filter(({ role }) => role === 'assistant').length + 1;
      return turn < 9 ? call('page', { n: turn }) : text('Done.');
    },
    startWorker: false,
  });
  rigs.push(rig);
  const first = await countingWorker(rig);
  const run = await rig.start();
  await rig.model.waitForRequest(7);
  await run.pause();
  await first.worker.stop();
  const second = await countingWorker(rig);
  await run.resume();
  expect(await run.result()).toMatchObject({ status: 'completed', turns: 9 });
  expect(new Set(second.queries)).toEqual(new Set(['messages']));
  expect(second.queries.length).toBeGreaterThan(1);
  const last = rig.model.requests.at(-1);
  const before = rig.model.requests.at(-2);
  const whole = JSON.stringify(last?.body.messages);
  expect(whole.startsWith(JSON.stringify(before?.body.messages).slice(0, -1))).toBe(true);
});
