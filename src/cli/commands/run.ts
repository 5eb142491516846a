/** `everlap run`: starts a run and shows it until its end. */
import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { DEFAULT_TASK_QUEUE } from '../../agents/define-agent.js';
import type { Config } from '../../agents/define-config.js';
import { CliError } from '../cli-error.js';
import { loadConfigIfAny } from '../config-file.js';
import { withSession, type Session } from '../connect.js';
import { EXIT, EXIT_CODES_HELP, exitCodeOf } from '../exit-codes.js';
import { followRun, sayDetached } from '../follow-run.js';
import { onInterrupt } from '../interrupts.js';
import { command, limitsOf, withLimitOptions, type CommonFlags, type LimitFlags } from '../options.js';
import { note, printJson, printLine, styled } from '../output.js';
import { settingsOf } from '../settings.js';
import { runUrl, uiOf } from '../ui-link.js';
import { HOW_TO_GET_A_WORKER, workerPolls } from '../workers.js';

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
  const known = await configFor(agent, flags);
  const { taskQueue } = known;
  return withSession({ ...flags, ...known }, async (session) => {
    await lookForWorker(session, taskQueue, flags);
    const id = flags.id ?? `${agent}-${randomUUID()}`;
    // Up to here Ctrl-C just ends the command; from here on there may be a run to tell of.
    const { signal, stop } = onInterrupt();
    try {
      const run = await session.client.start({ agent, task, id, ...(settings && { settings }) });
      await announce(session, id, agent, flags);
      if (flags.detach) return EXIT.ok;
      const followed = await followRun(run, { json: flags.json === true, signal });
      if ('result' in followed) return exitCodeOf(followed.result.status);
      sayDetached(id, flags, followed.detachedAfter);
      return EXIT.interrupted;
    } finally {
      stop();
    }
  });
}

type Known = Pick<Config, 'taskQueue' | 'externalStorage'>;

/** A config in this folder knows the agents. Without one, the worker has to. */
async function configFor(agent: string, { config: named, taskQueue }: Flags): Promise<Known> {
  const loaded = await loadConfigIfAny(named);
  if (loaded === undefined) return { taskQueue: taskQueue ?? DEFAULT_TASK_QUEUE };
  const { file, config } = loaded;
  const agents = config.agents.map(({ name }) => name);
  if (!agents.includes(agent)) {
    throw new CliError(`There is no agent "${agent}" in ${file}; it has: ${agents.join(', ')}.`);
  }
  const { externalStorage } = config;
  return { taskQueue: taskQueue ?? config.taskQueue, ...(externalStorage && { externalStorage }) };
}

async function lookForWorker(session: Session, taskQueue: string, { detach }: Flags): Promise<void> {
  if (await workerPolls(session, taskQueue)) return;
  const where = `No worker polls the task queue "${taskQueue}" at ${session.target.address}`;
  if (!detach) throw new CliError(`${where}, so nothing was started; ${HOW_TO_GET_A_WORKER}.`);
  note(`${where}: the run waits for one; ${HOW_TO_GET_A_WORKER}.`);
}

async function announce({ target }: Session, id: string, agent: string, flags: Flags): Promise<void> {
  const ui = await uiOf(target);
  const url = ui === undefined ? undefined : runUrl(ui, target.namespace, id);
  if (flags.json) return printJson({ type: 'run', id, agent, namespace: target.namespace, ...(url && { url }) });
  printLine(`${styled('bold', 'Run')} ${id}`);
  if (url !== undefined) printLine(styled('dim', `Temporal UI: ${url}`));
  if (!flags.detach) printLine(styled('dim', 'Ctrl-C detaches; the run goes on.'));
}
