/** What the worker's own log says: one line each, for the SDK's two loggers (its TypeScript part and its native core). */
import { DefaultLogger, makeTelemetryFilterString, Runtime, type LogEntry, type LogLevel } from '@temporalio/worker';
import { note, oneLine } from './output.js';

/** Once a process, before anything of a worker is made. All of it goes to standard error. */
export function installWorkerLog(level: LogLevel): void {
  Runtime.install({
    logger: new DefaultLogger(level, (entry) => note(lineOf(entry))),
    telemetryOptions: { logging: { filter: makeTelemetryFilterString({ core: level, other: 'ERROR' }) } },
  });
}

/** `WARN Activity failed: callModel of run r3, attempt 2: …` The rest, stacks included, is in the Temporal UI. */
function lineOf({ level, message, meta = {} }: LogEntry): string {
  const { activityType, workflowId, attempt, error, sdkComponent } = meta;
  const where = [
    typeof activityType === 'string' ? activityType : undefined,
    typeof workflowId === 'string' ? `run ${workflowId}` : undefined,
    typeof attempt === 'number' && attempt > 1 ? `attempt ${attempt}` : undefined,
  ].filter((part) => part !== undefined);
  const from = typeof sdkComponent === 'string' && sdkComponent !== 'worker' ? ` [${sdkComponent}]` : '';
  const why = error === undefined ? '' : `: ${error instanceof Error ? error.message : String(error)}`;
  return `${level}${from} ${oneLine(`${message}${where.length > 0 ? ` (${where.join(', ')})` : ''}${why}`, 1000)}`;
}
