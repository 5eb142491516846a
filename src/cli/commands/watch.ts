/** `everlap watch`: shows a run from its start, or from an event on, until its end; also one that has ended. */
import type { Command } from 'commander';
import { storageOf } from '../config-file.js';
import { withSession } from '../connect.js';
import { EXIT, EXIT_CODES_HELP, exitCodeOf } from '../exit-codes.js';
import { followRun, sayDetached } from '../follow-run.js';
import { onInterrupt } from '../interrupts.js';
import { command, type CommonFlags } from '../options.js';

interface Flags extends CommonFlags {
  readonly after?: string;
  readonly json?: true;
}

export function watchCommand(finish: (code: number) => void): Command {
  return command('watch', 'Show what happened and happens in a run until its end; Ctrl-C leaves it to itself')
    .argument('<id>', 'the run’s id')
    .option('--after <event>', 'only what came after the event of this id')
    .option('--json', 'one JSON object a line, the last one {"type":"result","result":{…}}')
    .addHelpText('after', EXIT_CODES_HELP)
    .action(async (id: string, flags: Flags) => finish(await watch(id, flags)));
}

async function watch(id: string, flags: Flags): Promise<number> {
  const { after, json = false } = flags;
  return withSession({ ...flags, ...(await storageOf(flags.config)) }, async ({ client }) => {
    const { signal, stop } = onInterrupt();
    const followed = await followRun(client.handle(id), {
      json,
      signal,
      flags,
      ...(after !== undefined && { after }),
    }).finally(stop);
    if ('result' in followed) return exitCodeOf(followed.result.status);
    sayDetached(id, flags, followed.detachedAfter);
    return EXIT.interrupted;
  });
}
