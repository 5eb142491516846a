/** Watching a run whose payloads and failures are encrypted: everything a watcher reads passes the client's codec. */
import { Client } from '@temporalio/client';
import type { DataConverter, Payload, PayloadCodec } from '@temporalio/common';
import { defineTool } from 'everlap';
import { EverlapClient, type LiveEvent } from 'everlap/client';
import { calls, gate, httpError, text } from 'everlap/testing';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { startRig, type Rig } from '../support/rig.js';

let rig: Rig;
afterEach(() => rig.stop({ verify: false }));

const mask = (bytes: Uint8Array): Uint8Array => bytes.map((byte) => byte ^ 0x5a);
const codec: PayloadCodec = {
  encode: async (payloads) =>
    payloads.map((payload) => ({
      metadata: { encoding: Buffer.from('binary/masked'), was: payload.metadata?.['encoding'] ?? new Uint8Array() },
      data: mask(payload.data ?? new Uint8Array()),
    })),
  decode: async (payloads) => payloads.map(unmasked),
};

function unmasked({ metadata, data }: Payload): Payload {
  // Stricter than most: what never passed it is refused.
  if (Buffer.from(metadata?.['encoding'] ?? []).toString() !== 'binary/masked') throw new Error('This is not masked.');
  return { metadata: { encoding: metadata?.['was'] ?? new Uint8Array() }, data: mask(data ?? new Uint8Array()) };
}

const dataConverter: DataConverter = { payloadCodecs: [codec] };

const tool = (name: string, execution: 'activity' | 'local') =>
  defineTool({
    name,
    description: 'Looks.',
    input: z.object({}),
    effects: 'none',
    execution,
    execute: () => `${name} saw it`,
  });

async function startMasked(script: Parameters<typeof startRig>[0] = {}) {
  rig = await startRig({
    ...script,
    agent: { tools: [tool('look', 'activity'), tool('peek', 'local')] },
    worker: { worker: { dataConverter } },
  });
  const client = new EverlapClient({
    client: new Client({ connection: rig.temporal.connection, dataConverter }),
    taskQueue: rig.taskQueue,
  });
  return client.start({ agent: rig.agent, task: 'Look.' });
}

test('texts, tools, messages, tokens and the end', async () => {
  const held = gate();
  const run = await startMasked({
    script: [
      calls([
        { name: 'look', arguments: {} },
        { name: 'peek', arguments: {} },
      ]),
      text(['I ', 'saw it.'], { holdAfter: { chunks: 2, until: held } }),
      text('Sure.'),
    ],
  });
  const events: LiveEvent[] = [];
  for await (const event of run.live()) {
    events.push(event);
    if (event.type !== 'tokens' || event.turn !== 2) continue;
    await run.steer('Sure?');
    held.open();
  }
  const texts = events.flatMap((event) => ('text' in event ? [[event.type, event.text]] : []));
  expect(texts).toEqual(
    expect.arrayContaining([
      ['tool_finished', 'look saw it'],
      ['tool_finished', 'peek saw it'],
      ['tokens', 'I '],
      ['model_answered', 'I saw it.'],
      ['steering_received', 'Sure?'],
      ['steering_taken', '[STEERING] Sure?'],
    ]),
  );
  expect(events[0]).toMatchObject({ type: 'run_started', task: 'Look.' });
  expect(events.at(-1)).toMatchObject({ type: 'ended', result: await run.result() });
});

test('a failed run: the failure has the result', async () => {
  const run = await startMasked({ script: [httpError(401)] });
  const events: LiveEvent[] = [];
  for await (const event of run.events()) events.push(event);
  expect(events.at(-1)).toMatchObject({ type: 'ended', result: await run.result() });
  expect(events.at(-1)).toMatchObject({ result: { reason: 'auth' } });
});

test('a cancelled run: its memo has the result', async () => {
  const held = gate();
  const run = await startMasked({ script: [text('Never.', { waitFor: held })] });
  await held.reached;
  await run.cancel();
  const events: LiveEvent[] = [];
  for await (const event of run.events()) events.push(event);
  held.open();
  expect(events.at(-1)).toMatchObject({ type: 'ended', result: await run.result() });
});
