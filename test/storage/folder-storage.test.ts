/** A folder as external storage: a carried state far over the payload limit goes on without compaction. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { defineAgent, defineTool } from 'everlap';
import { EverlapClient } from 'everlap/client';
import { call, startScriptedModel, text } from 'everlap/testing';
import { createWorker, folderStorage, openaiChat } from 'everlap/worker';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { startDevServer, type DevServer } from '../../src/dev/dev-server.js';

let server: DevServer;
let folder: string;
beforeAll(async () => {
  // Suggests to continue as new soon, so that large states are carried.
  server = await startDevServer({ dynamicConfig: ['limit.historyCount.suggestContinueAsNew=60'] });
  folder = await mkdtemp(join(tmpdir(), 'everlap-storage-'));
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

test('a state of several MB is carried over continue-as-new, whole', async () => {
  const words = 'x'.repeat(300_000);
  const much = defineTool({
    name: 'much',
    description: 'Says much.',
    input: z.object({ n: z.number() }),
    effects: 'none',
    execute: ({ n }) => `${n} ${words}`,
  });
  const agent = defineAgent({
    name: 'reader',
    instructions: 'Read.',
    model: 'gpt-5-mini',
    tools: [much],
    toolResult: { maxChars: 400_000 },
    context: { window: 100_000_000 },
  });
  const model = await startScriptedModel({
    script: (_, turn) => (turn < 14 ? call('much', { n: turn }) : text('Read it all.')),
    keepBodies: 1,
  });
  const externalStorage = folderStorage({ folder });
  const connection = await NativeConnection.connect({ address: server.address });
  const taskQueue = `storage-${randomUUID()}`;
  const worker = await createWorker({
    agents: [agent],
    connection,
    taskQueue,
    externalStorage,
    workspaces: join(folder, 'workspaces'),
    provider: openaiChat({ baseUrl: model.baseUrl, apiKey: 'scripted' }),
  });
  const running = worker.run();
  const clientConnection = await Connection.connect({ address: server.address });
  const temporal = new Client({ connection: clientConnection, dataConverter: { externalStorage } });
  const client = new EverlapClient({ client: temporal, taskQueue });
  const run = await client.start({ agent, task: 'Read.' });
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'Read it all.', turns: 15 });
  const state = await run.state();
  expect(state).toMatchObject({ compactions: 0, messages: 30 });
  const { raw } = await run.temporal.describe();
  expect(raw.workflowExecutionInfo?.firstRunId).not.toBe(raw.workflowExecutionInfo?.execution?.runId);
  expect((await readdir(folder)).length).toBeGreaterThan(1);
  worker.shutdown();
  await running;
  await Promise.all([connection.close(), clientConnection.close(), model.close()]);
});
