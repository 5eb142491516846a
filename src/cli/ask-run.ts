/** What all commands that say something to a run share: its id, `--json`, and how its answer is shown. */
import type { Command } from 'commander';
import type { RunHandle } from '../client.js';
import { withSession } from './connect.js';
import { command, type CommonFlags } from './options.js';
import { note, printJson, printLine } from './output.js';
import { requireWorkerOf } from './workers.js';

export type AskFlags = CommonFlags & { readonly json?: true };

/** A run answers at its next safe point, which may be far: a long tool, a long answer. */
const SLOW_MS = 2_000;

export function toRun(name: string, description: string): Command {
  return command(name, description)
    .argument('<id>', 'the run’s id')
    .option('--json', 'the run’s answer as one JSON object');
}

/** Asks the run and prints its answer: as a sentence, or with `--json` as it is. */
export function ask<T>(
  id: string,
  flags: AskFlags,
  say: (run: RunHandle) => Promise<T>,
  sentence: (answer: T) => string,
): Promise<void> {
  return withSession(flags, async (session) => {
    await requireWorkerOf(session, id, 'message');
    const slow = setTimeout(() => note('Waiting: the run answers at its next safe point.'), SLOW_MS);
    const answer = await say(session.client.handle(id)).finally(() => clearTimeout(slow));
    if (flags.json) printJson(answer);
    else printLine(sentence(answer));
  });
}
