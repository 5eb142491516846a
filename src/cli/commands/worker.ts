/** `everlap worker`: runs the config's agents until it is told to stop. */
import { Option, type Command } from 'commander';
import { command } from '../options.js';
import type { WorkerFlags } from '../run-worker.js';

const LOG_LEVELS = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR'] as const;

export function workerCommand(): Command {
  return command('worker', 'Run the agents of the config until SIGTERM or Ctrl-C')
    .addOption(
      new Option('--log-level <level>', 'of the worker’s log on standard error').choices(LOG_LEVELS).default('WARN'),
    )
    .addOption(
      new Option('--deployment <name>', 'makes it a versioned worker, of this deployment').env(
        'TEMPORAL_DEPLOYMENT_NAME',
      ),
    )
    .addOption(new Option('--build-id <id>', 'its version in that deployment').env('TEMPORAL_WORKER_BUILD_ID'))
    .action(async (flags: WorkerFlags) => {
      // The SDK's worker is large, and no other command needs it.
      const { runWorker } = await import('../run-worker.js');
      await runWorker(flags);
    });
}
