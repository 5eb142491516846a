/** `everlap state`: where a run stands, also when it has ended. */
import type { Command } from 'commander';
import type { RunView } from '../../client.js';
import { withSession } from '../connect.js';
import { count, durationText, usdText } from '../figures.js';
import { command, type CommonFlags } from '../options.js';
import { oneLine, printable, printJson, printLine, styled } from '../output.js';
import { callText, notShown } from '../waiting-call.js';
import { requireWorkerOf } from '../workers.js';

export function stateCommand(): Command {
  return command('state', 'Show where a run stands')
    .argument('<id>', 'the run’s id')
    .option('--json', 'one JSON object')
    .action((id: string, flags: CommonFlags & { readonly json?: true }) =>
      withSession(flags, async (session) => {
        await requireWorkerOf(session, id, 'query');
        const view = await session.client.handle(id).state();
        if (flags.json) return printJson(view);
        for (const [name, value] of rows(view)) printLine(`${styled('dim', name.padEnd(11))} ${value}`);
      }),
    );
}

function rows(view: RunView): [name: string, value: string][] {
  const status = [view.status, view.reason].filter(Boolean).join(', ');
  const limits = Object.entries(view.limits).map(([name, { limit, left }]) =>
    name === 'durationMs' ? `duration ${durationText(left)} of ${durationText(limit)}` : `${name} ${left} of ${limit}`,
  );
  const { usage, queues } = view;
  return [
    ['status', status === view.phase || view.phase === 'ended' ? status : `${status} (${view.phase})`],
    ['agent', printable(view.agent)],
    ['task', oneLine(view.task, 200)],
    ['model', printable(view.model ?? 'not known yet')],
    [
      'turns',
      `${view.turn}, lap ${view.lap}, ${count(view.toolCalls, 'tool call')}, ${count(view.messages, 'message')}`,
    ],
    ['usage', `${usage.input} tokens in, ${usage.output} out, ${usdText(view.costUsd)}`],
    ['left', limits.join(', ') || 'no limits'],
    ...(view.forceFinish === undefined
      ? []
      : [['to finish', oneLine(view.forceFinish.reason ?? 'at the next safe point', 300)] as [string, string]]),
    ['queues', `${queues.steering} steering, ${count(queues.followUps, 'follow-up')}`],
    ...view.pending.map((call): [string, string] => ['waits for', callText(call, 200)]),
    ...(notShown(view) === 0 ? [] : [['', `${notShown(view)} more, shown as others are decided`] as [string, string]]),
    ...(view.lastError === null ? [] : [['last error', oneLine(view.lastError, 500)] as [string, string]]),
    ...(view.output == null ? [] : [['output', printable(view.output)] as [string, string]]),
  ];
}
