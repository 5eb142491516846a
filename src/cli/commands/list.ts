/** `everlap list`: the runs that there are, newest first. */
import type { Command } from 'commander';
import { STATUSES } from '../../agents/result.js';
import type { RunListing } from '../../client/everlap-client.js';
import { CliError, sentenceOf } from '../cli-error.js';
import { withSession } from '../connect.js';
import { atLeastOne, command, type CommonFlags } from '../options.js';
import { printable, printJson, printLine, styled } from '../output.js';

interface Flags extends CommonFlags {
  readonly agent?: string;
  readonly status?: string;
  readonly limit: number;
  readonly query?: string;
  readonly json?: true;
}

const ALL_STATUSES = ['running', 'paused', 'waiting', 'idle', ...STATUSES] as const;

export function listCommand(): Command {
  return command('list', 'List runs, newest first')
    .option('--agent <name>', 'only those of this agent (needs the search attributes: everlap setup)')
    .option('--status <status>', 'only those in this status: running, paused, completed, … (same)')
    .option('--query <filter>', 'more of Temporal’s list filter')
    .option('--limit <n>', 'runs at most', atLeastOne, 100)
    .option('--json', 'one JSON object a line')
    .action(async (flags: Flags) => {
      const status = statusOf(flags);
      await withSession(flags, async ({ client }) => {
        const { agent, limit, taskQueue } = flags;
        const filters = [flags.query, taskQueue && `TaskQueue = '${taskQueue.replaceAll("'", "\\'")}'`].filter(Boolean);
        const query = filters.length > 0 ? filters.join(') AND (') : undefined;
        let shown = 0;
        try {
          for await (const run of client.list({
            limit,
            ...(agent !== undefined && { agent }),
            ...(status !== undefined && { status }),
            ...(query !== undefined && { query }),
          })) {
            if (flags.json) printJson(run);
            else showRun(run, shown === 0);
            shown += 1;
          }
        } catch (error) {
          throw betterSentence(error);
        }
        if (shown === 0 && !flags.json) printLine('There are no such runs. `everlap run AGENT TASK` starts one.');
      });
    });
}

/** One that there is not would find nothing, and look like an answer. */
function statusOf({ status }: Flags): string | undefined {
  if (status === undefined || ALL_STATUSES.some((one) => one === status)) return status;
  throw new CliError(`"${status}" is no status of a run; it must be one of ${ALL_STATUSES.join(', ')}.`);
}

function showRun(run: RunListing, first: boolean): void {
  if (first) printLine(styled('dim', row('STATUS', 'REASON', 'AGENT', 'STARTED', 'ID')));
  const status = run.status ?? run.temporalStatus.toLowerCase();
  const started = run.startedAt.toISOString().replace('T', ' ').slice(0, 19);
  printLine(row(status, run.reason ?? '', run.agent ?? '', started, run.id));
}

/** The id comes last: it is the one of no fixed length. */
function row(status: string, reason: string, agent: string, started: string, id: string): string {
  const cells = [status.padEnd(10), reason.padEnd(15), agent.padEnd(16), started.padEnd(19), id];
  return printable(cells.join('  ')).replaceAll('\n', ' ');
}

function betterSentence(error: unknown): unknown {
  const said = sentenceOf(error);
  if (/Everlap(Agent|Status)/.test(said) && /search attribute/i.test(said)) {
    return new CliError('This namespace has none of Everlap’s search attributes; `everlap setup` adds them.', {
      cause: error,
    });
  }
  return /invalid query/.test(said) ? new CliError(`The filter was refused. ${said}`, { cause: error }) : error;
}
