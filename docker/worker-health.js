// The worker container's health check: does this very worker ask the server for work? Exit code 0 or 1.
// A worker's name is `PID@HOST`, and a container's host name is its own.
import { hostname } from 'node:os';
import { Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';

const { connectionOptions, namespace = 'default' } = loadClientConnectConfig();
const taskQueue = { name: process.env.EVERLAP_TASK_QUEUE ?? 'everlap' };
const connection = await Connection.connect(connectionOptions);
const { pollers } = await connection.withDeadline(Date.now() + 5_000, () =>
  connection.workflowService.describeTaskQueue({ namespace, taskQueue, taskQueueType: 1 }),
);
await connection.close();
const polls = pollers.some(({ identity }) => identity?.endsWith(`@${hostname()}`));
console.log(polls ? 'polling' : `not polling ${taskQueue.name}`);
process.exitCode = polls ? 0 : 1;
