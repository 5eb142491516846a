/**
 * Runs in a project that has nothing but the packed package: carries some 5 MB over continue-as-new through the folder
 * driver. Prints what came of it as one line of JSON, and which copies of protobufjs Temporal's packages have. Arguments: the address of a server, a folder.
 */
import { createRequire } from 'node:module';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { defineAgent, defineTool } from 'everlap';
import { EverlapClient } from 'everlap/client';
import { call, startScriptedModel, text } from 'everlap/testing';
import { createWorker, folderStorage, openaiChat } from 'everlap/worker';
import { z } from 'zod';

const [address, folder] = process.argv.slice(2);
const externalStorage = folderStorage({ folder: `${folder}/payloads` });
const much = defineTool({
  name: 'much',
  description: 'Says much.',
  input: z.object({ n: z.number() }),
  effects: 'none',
  execute: ({ n }) => `${n} ${'x'.repeat(390_000)}`,
});
const agent = defineAgent({
  name: 'reader',
  instructions: 'Read.',
  model: 'gpt-5-mini',
  tools: [much],
  toolResult: { maxChars: 400_000 },
  context: { window: 100_000_000 },
});
const TURNS = 20;
const model = await startScriptedModel({
  script: (_, turn) => (turn < TURNS ? call('much', { n: turn }) : text('Read it all.')),
  keepBodies: 1,
});
const connection = await NativeConnection.connect({ address });
const worker = await createWorker({
  agents: [agent],
  connection,
  taskQueue: 'install',
  externalStorage,
  workspaces: `${folder}/workspaces`,
  provider: openaiChat({ baseUrl: model.baseUrl, apiKey: 'scripted' }),
});
const running = worker.run();
const clientConnection = await Connection.connect({ address });
const temporal = new Client({ connection: clientConnection, dataConverter: { externalStorage } });
const client = new EverlapClient({ client: temporal, taskQueue: 'install' });
const run = await client.start({ agent, task: 'Read.' });
const result = await run.result();
const { messages, compactions } = await run.state();
const { input } = (await run.temporal.fetchHistory()).events[0].workflowExecutionStartedEventAttributes;
const carriedBytes = Number(input.payloads[0].externalPayloads[0].sizeBytes);
worker.shutdown();
await running;
await Promise.all([connection.close(), clientConnection.close(), model.close()]);

const require = createRequire(import.meta.url);
const copies = ['common', 'proto', 'worker', 'client'].map((name) =>
  createRequire(require.resolve(`@temporalio/${name}`)).resolve('protobufjs'),
);
console.log(JSON.stringify({ result, messages, compactions, carriedBytes, copies: [...new Set(copies)] }));
