/** `everlap run`: starts a run and shows it until its end. */
import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { CliError } from '../cli-error.js';
import { agentConfig } from '../config-file.js';
import { withSession, type Session } from '../connect.js';
import { EXIT, EXIT_CODES_HELP, exitCodeOf } from '../exit-codes.js';
import { followRun, sayDetached } from '../follow-run.js';
import { onInterrupt } from '../interrupts.js';
import { command, limitsOf, withLimitOptions, type CommonFlags, type LimitFlags } from '../options.js';
import { printJson, printLine, styled } from '../output.js';
import { settingsOf } from '../settings.js';
import { runUrl, uiOf } from '../ui-link.js';
import { isAttended } from '../terminal.js';
import { lookForWorker } from '../workers.js';

interface Flags extends CommonFlags, LimitFlags {
  readonly id?: string;
  readonly settings?: string;
  readonly detach?: true;
  readonly json?: true;
}

export function runCommand(finish: (code: number) => void): Command {
  const run = command('run', 'Start a run and show what happens; Ctrl-C detaches, and the run goes on')
    .argument('<agent>', 'the agent’s name')
    .argument('<task>', 'what it is to do')
    .option('--id <id>', 'the run’s id (default: the agent’s name and something random)')
    .option('--settings <json>', 'what this run has otherwise than its agent, such as {"model":"gpt-5-mini"}')
    .option('--detach', 'start it, print its id, and leave it to itself')
    .option('--json', 'what happens as one JSON object a line, the last one {"type":"result","result":{…}}');
  return withLimitOptions(run)
    .addHelpText('after', EXIT_CODES_HELP)
    .action(async (agent: string, task: string, flags: Flags) => finish(await start(agent, task, flags)));
}

async function start(agent: string, task: string, flags: Flags): Promise<number> {
  if (task.trim() === '')
    throw new CliError('The task is empty; say what the agent is to do: everlap run AGENT "TASK"');
  if (flags.id?.trim() === '') throw new CliError('The --id is empty; leave it out for one that is made up.');
  const settings = settingsOf(flags.settings, limitsOf(flags));
  const known = await agentConfig(agent, flags);
  const { taskQueue } = known;
  return withSession({ ...flags, ...known }, async (session) => {
    await lookForWorker(session, taskQueue, { needed: !flags.detach });
    const id = flags.id ?? `${agent}-${randomUUID()}`;
    // Up to here Ctrl-C just ends the command; from here on there may be a run to tell of.
    const { signal, stop } = onInterrupt();
    try {
      const run = await session.client.start({ agent, task, id, ...(settings && { settings }) });
      await announce(session, id, agent, flags);
      if (flags.detach) return EXIT.ok;
      const followed = await followRun(run, {
        json: flags.json === true,
        signal,
        attended: isAttended(),
        flags,
      });
      if ('result' in followed) return exitCodeOf(followed.result.status);
      sayDetached(id, flags, followed.detachedAfter);
      return EXIT.interrupted;
    } finally {
      stop();
    }
  });
}

async function announce({ target }: Session, id: string, agent: string, flags: Flags): Promise<void> {
  const ui = await uiOf(target);
  const url = ui === undefined ? undefined : runUrl(ui, target.namespace, id);
  if (flags.json) return printJson({ type: 'run', id, agent, namespace: target.namespace, ...(url && { url }) });
  printLine(`${styled('bold', 'Run')} ${id}`);
  if (url !== undefined) printLine(styled('dim', `Temporal UI: ${url}`));
  if (!flags.detach) printLine(styled('dim', 'Ctrl-C detaches; the run goes on.'));
}
