/**
 * External storage, a folder and S3 by the same rules: a carried state far over the payload limit goes on without compaction,
 * and whoever has the storage can read and replay it. S3 through Temporal's own driver and the real SDK, over HTTP.
 */
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { S3Client } from '@aws-sdk/client-s3';
import { Client, Connection } from '@temporalio/client';
import { S3StorageDriver } from '@temporalio/external-storage-s3';
import { AwsSdkS3StorageDriverClient } from '@temporalio/external-storage-s3-aws-sdk';
import { temporal as proto } from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { defineConfig, defineTool } from 'everlap';
import { EverlapClient } from 'everlap/client';
import { call, text } from 'everlap/testing';
import { everlapBundle, ExternalStorage, folderStorage } from 'everlap/worker';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { startDevServer, type DevServer } from '../../src/dev/dev-server.js';
import { startFakeS3, type FakeS3 } from '../artifacts/s3-server.js';
import { eventsOf, executionsOf } from '../support/history.js';
import { startRig, type Rig } from '../support/rig.js';

const MB = 1024 * 1024;
const WORDS = 'x'.repeat(300_000);

let server: DevServer;
let folder: string;
let s3: FakeS3;
let rig: Rig;
beforeAll(async () => {
  // Suggests to continue as new soon, so that large states are carried.
  server = await startDevServer({ dynamicConfig: ['limit.historyCount.suggestContinueAsNew=60'] });
  folder = await mkdtemp(join(tmpdir(), 'everlap-storage-'));
  s3 = await startFakeS3();
});
afterEach(() => rig.stop());
afterAll(async () => {
  await server.stop();
  await s3.close();
  await rm(folder, { recursive: true, force: true });
});

interface Storage {
  /** Made anew for each process that has it: nothing is shared but what is stored. */
  readonly make: () => ExternalStorage;
  /** Bytes of the largest payload in it. */
  readonly largest: () => Promise<number>;
}

const storages: Record<string, Storage> = {
  'a folder': {
    make: () => folderStorage({ folder }),
    largest: async () => {
      const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
      const sizes = await Promise.all(
        files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size),
      );
      return Math.max(...sizes);
    },
  },
  S3: {
    make: () => {
      const client = new S3Client({
        endpoint: s3.endpoint,
        region: 'us-east-1',
        forcePathStyle: true,
        credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
      });
      const driver = new S3StorageDriver({ client: new AwsSdkS3StorageDriverClient(client), bucket: 'payloads' });
      return new ExternalStorage({ drivers: [driver] });
    },
    largest: async () => Math.max(...[...s3.objects.values()].map(({ length }) => length)),
  },
};

describe.each(Object.entries(storages))('%s', (_, { make, largest }) => {
  test('a state of several MB is carried whole; another client reads it, another worker replays it', async () => {
    const much = defineTool({
      name: 'much',
      description: 'Says much.',
      input: z.object({ n: z.number() }),
      effects: 'none',
      execute: ({ n }) => `${n} ${WORDS}`,
    });
    rig = await startRig({
      address: server.address,
      startWorker: false,
      agent: { tools: [much], toolResult: { maxChars: 400_000 }, context: { window: 100_000_000 } },
      script: (_, turn) => (turn < 14 ? call('much', { n: turn }) : text(`Read it all. ${WORDS}`)),
      keepBodies: 1,
    });
    const { externalStorage } = defineConfig({ agents: [rig.agent], externalStorage: make() });
    await rig.startWorker({ ...(externalStorage && { externalStorage }) });
    const connection = await Connection.connect({ address: server.address });
    const elsewhere = make();
    const temporal = new Client({ connection, dataConverter: { externalStorage: elsewhere } });
    const client = new EverlapClient({ client: temporal, taskQueue: rig.taskQueue });

    const run = await client.start({ agent: rig.agent, task: `Read. ${WORDS}` });
    const result = await run.result();
    expect(result).toMatchObject({ status: 'completed', turns: 15 });
    expect(result.output).toBe(`Read it all. ${WORDS}`);
    expect(await run.state()).toMatchObject({ compactions: 0, messages: 30 });
    const told = (await run.messages()).filter(({ role }) => role === 'tool');
    expect(told.map(({ text: said }) => said)).toEqual(Array.from({ length: 14 }, (__, n) => `${n} ${WORDS}`));

    const executions = await executionsOf(rig.temporal, run.id);
    expect(executions.length).toBeGreaterThan(1);
    expect(await largest()).toBeGreaterThan(2 * MB);
    const options = { workflowBundle: everlapBundle(), dataConverter: { externalStorage: elsewhere } };
    for (const execution of executions) {
      const events = await eventsOf(rig.temporal, run.id, execution);
      await Worker.runReplayHistory(options, proto.api.history.v1.History.fromObject({ events }), run.id);
    }
    await connection.close();
  }, 180_000);
});
