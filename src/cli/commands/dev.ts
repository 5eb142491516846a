/** `everlap dev`: a Temporal server of one's own with its UI, and a worker that is started again when sources change. */
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { startDevServer, type DevServer } from '../../dev/dev-server.js';
import { CliError } from '../cli-error.js';
import { configNeeded } from '../config-file.js';
import { EXIT } from '../exit-codes.js';
import { onInterrupt } from '../interrupts.js';
import { aPort, command, type CommonFlags } from '../options.js';
import { note, printLine, styled } from '../output.js';
import { leaveDevNote, removeDevNote } from '../ui-link.js';
import { WorkerProcess } from '../worker-process.js';

const PORT = 7233;
const UI_PORT = 8233;
const DB = join('.everlap', 'dev.db');

interface Flags extends CommonFlags {
  readonly worker: boolean;
  readonly port: number;
  readonly uiPort: number;
  readonly db: string;
}

export function devCommand(finish: (code: number) => void): Command {
  return command('dev', 'Start a Temporal server with its UI, and a worker that is started again on changes')
    .option('--no-worker', 'only the server')
    .option('--port <n>', 'of the server; 0 for a free one', aPort, PORT)
    .option('--ui-port <n>', 'of its UI; 0 for a free one', aPort, UI_PORT)
    .option('--db <file>', 'the SQLite file that keeps runs over restarts', DB)
    .action(async (flags: Flags) => finish(await develop(flags)));
}

async function develop(flags: Flags): Promise<number> {
  if (flags.address !== undefined) {
    throw new CliError(
      '`everlap dev` starts a server of its own; for one that runs, use `everlap worker --address HOST:PORT`.',
    );
  }
  const config = flags.worker ? configNeeded(flags.config) : undefined;
  const server = await startDevServer({
    port: flags.port,
    uiPort: flags.uiPort,
    dbFile: flags.db,
    logFile: join('.everlap', 'temporal.log'),
    ...(flags.namespace !== undefined && { namespace: flags.namespace }),
    onProgress: note,
  });
  const { signal, stop } = onInterrupt();
  const worker = config === undefined ? undefined : workerFor(config, server, flags);
  try {
    await introduce(server, flags);
    worker?.start();
    const ended = await Promise.race([server.ended, once(signal, 'abort').then(() => undefined)]);
    if (ended !== undefined) throw new CliError(`The Temporal server ${ended}; its log is .everlap/temporal.log.`);
    printLine(worker === undefined ? 'Stopping the server.' : 'Stopping the worker, then the server.');
    return EXIT.ok;
  } finally {
    await worker?.stop();
    await server.stop();
    await removeDevNote();
    stop();
  }
}

function workerFor(config: string, { address, namespace }: DevServer, { taskQueue }: Flags): WorkerProcess {
  const args = ['--config', config, '--address', address, '--namespace', namespace];
  return new WorkerProcess(taskQueue === undefined ? args : [...args, '--task-queue', taskQueue], dirname(config));
}

async function introduce({ address, uiUrl, namespace }: DevServer, { db }: Flags): Promise<void> {
  const rows = [
    ['Temporal', `${address}, namespace ${namespace}`],
    ['UI', uiUrl ?? 'none'],
    ['Runs kept in', db],
  ] as const;
  for (const [name, value] of rows) printLine(`${styled('dim', name.padEnd(13))} ${value}`);
  if (address !== `127.0.0.1:${PORT}`) {
    printLine(styled('dim', `Other commands need --address ${address}, or TEMPORAL_ADDRESS=${address}.`));
  }
  printLine(styled('dim', 'Ctrl-C stops it.'));
  if (uiUrl !== undefined) await leaveDevNote({ address, uiUrl });
}
