/** `everlap pending`: what waits for a person, over all runs. What was not looked at is told, on standard error. */
import type { Command } from 'commander';
import type { EverlapClient, RunView } from '../../client.js';
import { askAll } from '../ask-all.js';
import { CliError, sentenceOf } from '../cli-error.js';
import { withSession, type Session } from '../connect.js';
import { count } from '../figures.js';
import { atLeastOne, command, type CommonFlags } from '../options.js';
import { note, oneLine, printJson, printLine } from '../output.js';
import { callText, notShown, waitingRows } from '../waiting-call.js';

interface Flags extends CommonFlags {
  readonly limit: number;
  readonly all?: true;
  readonly json?: true;
}

const RUNNING = "ExecutionStatus = 'Running'";
/** Of a run that is paused, calls may wait as well. */
const MARKED = `${RUNNING} AND (EverlapStatus = 'waiting' OR EverlapStatus = 'paused')`;

export function pendingCommand(): Command {
  return command('pending', 'List what waits for a person, over all runs')
    .option('--limit <n>', 'runs to look at, at most', atLeastOne, 100)
    .option('--json', 'one JSON object a line')
    .option('--all', 'ask each running run, not only those that are marked as waiting or paused')
    .action((flags: Flags) => withSession(flags, (session) => pending(session, flags)));
}

/** @throws CliError where a run could not be asked: nobody is to take that for "nothing waits". */
async function pending(session: Session, flags: Flags): Promise<void> {
  const { client } = session;
  const { ids, others } = await runsToAsk(client, flags);
  const views = await askAll(session, ids, (id) => client.handle(id).state());
  const rows = waitingRows(views);
  for (const row of rows) {
    if (flags.json) printJson(row);
    else printLine(`${oneLine(row.id, Infinity)}  ${callText(row)}`);
  }
  for (const [id, view] of views) tellCut(id, view, views);
  if (others)
    note(`There are more ${others} than the newest ${ids.length}, and only those were looked at; see --limit.`);
  const silent = ids.length - views.size;
  if (rows.length === 0 && !flags.json && (views.size > 0 || silent === 0)) {
    printLine(`Nothing waits for a person${others || silent > 0 ? ' in the runs that were looked at' : ''}.`);
  }
  if (silent > 0) {
    throw new CliError(`${count(silent, 'run')} of ${ids.length} could not be asked; what waits in them is not known.`);
  }
}

/** `others`: what there are more of. */
interface ToAsk {
  readonly ids: readonly string[];
  readonly others?: string;
}

/** By the search attribute where the namespace has it; else every running run has to be asked. */
async function runsToAsk(client: EverlapClient, { limit, all }: Flags): Promise<ToAsk> {
  try {
    return all
      ? await newest(client, limit, RUNNING, 'running runs')
      : await newest(client, limit, MARKED, 'runs that are marked as waiting or paused');
  } catch (error) {
    if (all || !/search attribute/i.test(sentenceOf(error))) throw error;
    return newest(client, limit, RUNNING, 'running runs');
  }
}

async function newest(client: EverlapClient, limit: number, query: string, what: string): Promise<ToAsk> {
  const ids: string[] = [];
  for await (const { id } of client.list({ limit: limit + 1, query })) ids.push(id);
  return ids.length > limit ? { ids: ids.slice(0, limit), others: what } : { ids };
}

/** A run's own calls come first: where one of a run below is the last, those left out are of runs below as well. */
function tellCut(id: string, view: RunView, views: ReadonlyMap<string, RunView>): void {
  const left = notShown(view);
  const below = view.pending.at(-1)?.run;
  if (left === 0 || (below !== undefined && views.has(below))) return;
  note(`In the run ${id} ${left} more wait; they are shown as others are decided.`);
}
