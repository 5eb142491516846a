/** How much the worker's own log says, for the SDK's two loggers: its TypeScript part and its native core. */
import { DefaultLogger, makeTelemetryFilterString, Runtime, type LogLevel } from '@temporalio/worker';

/** Once a process, before anything of a worker is made. All of it goes to standard error. */
export function installWorkerLog(level: LogLevel): void {
  Runtime.install({
    logger: new DefaultLogger(level),
    telemetryOptions: { logging: { filter: makeTelemetryFilterString({ core: level, other: 'ERROR' }) } },
  });
}
