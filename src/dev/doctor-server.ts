// The part of the doctor that asks the Temporal server: is it there, and does it have what runs need.
import { Connection, isGrpcServiceError } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time.js';
import type { Check, DiagnoseOptions } from './doctor.js';
import { hasSearchAttributes } from './search-attributes.js';

const CONNECT_MS = 5_000;
const REQUEST_MS = 5_000;
/** A worker that has nothing to do asks again once a minute; one that is gone is listed for five. */
const SEEN_WITHIN_MS = 90_000;
const NOT_FOUND = 5; // grpc/grpc, `doc/statuscodes.md`
/** `temporal.api.enums.v1.TaskQueueType` */
const QUEUES = { workflows: 1, activities: 2 } as const;

/** Four checks: server, namespace, search attributes, worker. Those that could not be made say so. */
export async function diagnoseServer(options: DiagnoseOptions): Promise<Check[]> {
  const { address, connection: how = {} } = options;
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ ...how, address, connectTimeout: CONNECT_MS });
    const server = await checkServer(connection, address);
    const namespace = await checkNamespace(connection, options.namespace);
    if (!namespace.ok) return [server, namespace, ...notLookedAt('no namespace', ['Search attributes', 'Worker'])];
    return [
      server,
      namespace,
      await checkSearchAttributes(connection, options),
      await checkWorker(connection, options),
    ];
  } catch (error) {
    const server: Check = {
      name: 'Temporal server',
      ok: false,
      detail: `nothing answers as a Temporal server at ${address} (${reason(error)})`,
      fix: 'Start one (`everlap dev`), or name yours: --address HOST:PORT or TEMPORAL_ADDRESS, and its TLS settings.',
    };
    return [server, ...notLookedAt('no server', ['Namespace', 'Search attributes', 'Worker'])];
  } finally {
    await connection?.close();
  }
}

function notLookedAt(why: string, names: readonly string[]): Check[] {
  return names.map((name) => ({ name, ok: false, detail: `not looked at: ${why}`, notLookedAt: true }));
}

async function checkServer(connection: Connection, address: string): Promise<Check> {
  const { serverVersion } = await soon(connection, () => connection.workflowService.getSystemInfo({}));
  return { name: 'Temporal server', ok: true, detail: `${address}, version ${serverVersion || 'not told'}` };
}

async function checkNamespace(connection: Connection, namespace: string): Promise<Check> {
  const name = 'Namespace';
  try {
    await soon(connection, () => connection.workflowService.describeNamespace({ namespace }));
    return { name, ok: true, detail: namespace };
  } catch (error) {
    if (!isGrpcServiceError(error) || error.code !== NOT_FOUND) {
      return { name, ok: false, detail: `"${namespace}" could not be asked for (${reason(error)})` };
    }
    return {
      name,
      ok: false,
      detail: `there is no namespace "${namespace}"`,
      fix: `temporal operator namespace create --namespace ${namespace}, or name another: --namespace or TEMPORAL_NAMESPACE.`,
    };
  }
}

async function checkSearchAttributes(connection: Connection, { namespace }: DiagnoseOptions): Promise<Check> {
  const check = { name: 'Search attributes', optional: true };
  try {
    if (await hasSearchAttributes(connection, namespace)) return { ...check, ok: true, detail: 'all there' };
  } catch (error) {
    return { ...check, ok: false, detail: `could not be asked for (${reason(error)})` };
  }
  return {
    ...check,
    ok: false,
    detail: 'missing; runs cannot be filtered by agent, status, reason, turns and cost',
    fix: '`everlap setup` adds them.',
  };
}

async function checkWorker(connection: Connection, { namespace, taskQueue }: DiagnoseOptions): Promise<Check> {
  const check = { name: 'Worker' };
  try {
    const missing = await unpolled(connection, namespace, taskQueue);
    if (missing.length === 0) return { ...check, ok: true, detail: `polls task queue "${taskQueue}"` };
    return {
      ...check,
      ok: false,
      detail: `none polls task queue "${taskQueue}" for ${missing.join(' and ')}`,
      fix: 'Start one (`everlap worker`, or `everlap dev`), or name the queue of yours: --task-queue.',
    };
  } catch (error) {
    return { ...check, ok: false, detail: `task queue "${taskQueue}" could not be asked for (${reason(error)})` };
  }
}

/** What no worker asks the task queue for: `workflows`, `activities`, both or nothing. */
export async function unpolled(connection: Connection, namespace: string, taskQueue: string): Promise<string[]> {
  const missing: string[] = [];
  for (const [tasks, taskQueueType] of Object.entries(QUEUES)) {
    const request = { namespace, taskQueue: { name: taskQueue }, taskQueueType };
    const { pollers } = await soon(connection, () => connection.workflowService.describeTaskQueue(request));
    const since = Date.now() - SEEN_WITHIN_MS;
    if (!pollers.some(({ lastAccessTime }) => lastAccessTime && tsToMs(lastAccessTime) > since)) missing.push(tasks);
  }
  return missing;
}

function soon<T>(connection: Connection, request: () => Promise<T>): Promise<T> {
  return connection.withDeadline(Date.now() + REQUEST_MS, request);
}

function reason(error: unknown): string {
  if (isGrpcServiceError(error)) return error.details || error.message;
  return error instanceof Error ? error.message : String(error);
}
