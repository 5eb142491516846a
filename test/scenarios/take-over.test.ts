/** SCENARIO 40: another worker takes over in mid-run with an empty cache: one query, the same conversation byte for byte. */
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { defineTool } from 'everlap';
import type { RunHandle } from 'everlap/client';
import { call, gate, text, type RecordedRequest, type Step } from 'everlap/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { eventsOf } from '../support/history.js';
import { eventually, startRig, type Rig } from '../support/rig.js';

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

describe('a worker whose code makes other hashes than the one before it (a deploy)', () => {
  const turned = (hash: string): string => [...hash].reverse().join('');
  const inTurnedHashes: ActivityInboundCallsInterceptor = {
    async execute(input, next) {
      const [asked] = input.args;
      const given = ASKED.safeParse(asked).data;
      if (given === undefined) return next(input);
      const base = { ...given.base, hash: turned(given.base.hash) };
      const answer = ANSWER.parse(await next({ ...input, args: [{ ...given, base }] }));
      return answer.head === undefined ? answer : { ...answer, head: turned(answer.head) };
    },
  };
  const ASKED = z.looseObject({ base: z.object({ hash: z.string(), length: z.number() }) });
  const ANSWER = z.looseObject({ head: z.string().optional() });
  const before = { worker: { interceptors: { activity: [() => ({ inbound: inTurnedHashes })] } } };

  /** The run's failed activities, by type and failure type. */
  async function failures(rig: Rig, run: RunHandle): Promise<string[]> {
    const events = await eventsOf(rig.temporal, run.id);
    return events.flatMap(({ activityTaskFailedEventAttributes: failed }) => {
      const scheduled = events[Number(failed?.scheduledEventId) - 1]?.activityTaskScheduledEventAttributes;
      return failed ? [`${scheduled?.activityType?.name}: ${failed.failure?.applicationFailureInfo?.type}`] : [];
    });
  }

  test('is sent the conversation anew, once; no model call is made twice, and nothing is lost', async () => {
    const rig = await rigOf();
    const first = await rig.startWorker(before);
    const run = await rig.start();
    await rig.model.waitForRequest(3);
    await run.pause();
    await first.stop();
    await countingWorker(rig);
    await run.resume();
    expect(await run.result()).toMatchObject({ status: 'completed', output: 'Done.', turns: 6 });
    expect(await failures(rig, run)).toEqual(['callModel: unknown_head']);
    expect(rig.model.requests).toHaveLength(6);
    expect(rig.model.requests.at(-1)?.messages.filter(({ role }) => role === 'assistant')).toHaveLength(5);
    expect(await run.state()).toMatchObject({ lastError: null });
  });

  test('compacts the conversation with a summary all the same', async () => {
    const hold = gate();
    const grows = defineTool({
      name: 'look',
      description: 'Looks at something.',
      input: z.object({ n: z.number() }),
      effects: 'none',
      execute: ({ n }) => `Seen ${n}: ${'x'.repeat(n < 3 ? 100 : 9000)}`,
    });
    const wantsSummary = ({ body }: RecordedRequest): boolean => body.tools === undefined;
    const rig = await startRig({
      agent: { tools: [grows], context: { window: 3000, keepTurns: 1 } },
      script: (request) => {
        if (wantsSummary(request)) return text('Two things were seen.');
        const turn = rig.model.requests.filter((one) => !wantsSummary(one)).length;
        if (turn > 3) return text('Done.');
        return { ...call('look', { n: turn }), ...(turn === 3 && { waitFor: hold }) };
      },
      startWorker: false,
    });
    rigs.push(rig);
    const first = await rig.startWorker(before);
    const run = await rig.start();
    await hold.reached;
    await run.temporal.signal('pause');
    hold.open();
    await eventually(async () => (await run.state()).status === 'paused');
    await first.stop();
    await countingWorker(rig);
    await run.resume();
    expect(await run.result()).toMatchObject({ status: 'completed', output: 'Done.' });
    expect(await failures(rig, run)).toEqual(['compactConversation: unknown_head']);
    expect(await run.state()).toMatchObject({ compactions: 1, lastError: null });
    expect(JSON.stringify(rig.model.requests.at(-1)?.messages)).toContain('Two things were seen.');
  });
});
