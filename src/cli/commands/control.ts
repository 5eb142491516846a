/** The commands that say something to a run: steer, follow-up, finish, pause, resume, limits, cancel. */
import type { Command } from 'commander';
import type { AnsweredMessage, FollowUpReply, QueuedAnswer, RunHandle, StandingAnswer } from '../../client.js';
import { CliError } from '../cli-error.js';
import { ask, toRun, type AskFlags } from '../ask-run.js';
import { withSession } from '../connect.js';
import { durationText } from '../figures.js';
import { limitsOf, withLimitOptions, type LimitFlags } from '../options.js';
import { note, printJson, printLine } from '../output.js';
import { describeRun, workerPolls } from '../workers.js';

export function controlCommands(): Command[] {
  return [
    withText('steer', 'Put words before the next model call of a working run', (run, text) => run.steer(text)),
    withText('follow-up', 'Keep words until the agent would otherwise finish', (run, text) => run.followUp(text)),
    finishCommand(),
    plain('pause', 'Let a run stand still at its next safe point', (run) => run.pause()),
    plain('resume', 'Let a paused run go on', (run) => run.resume()),
    limitsCommand(),
    cancelCommand(),
  ];
}

function withText(
  name: string,
  description: string,
  say: (run: RunHandle, text: string) => Promise<FollowUpReply | QueuedAnswer>,
): Command {
  return toRun(name, description)
    .argument('<text>', 'what to say')
    .action((id: string, text: string, flags: AskFlags) =>
      ask(
        id,
        flags,
        (run) => say(run, text),
        (taken) =>
          'reason' in taken ? answered(taken) : `Taken: number ${taken.position} in the queue, for ${whenSaid(taken)}.`,
      ),
    );
}

/** In a session. */
function answered({ answer, reason }: AnsweredMessage): string {
  return answer ?? `No answer: ${reason}.`;
}

/** Of a follow-up nobody knows the turn. */
function whenSaid(taken: FollowUpReply | QueuedAnswer): string {
  return 'turn' in taken ? `turn ${taken.turn}` : 'when the agent would finish';
}

function plain(name: string, description: string, say: (run: RunHandle) => Promise<StandingAnswer>): Command {
  return toRun(name, description).action((id: string, flags: AskFlags) => ask(id, flags, say, standing));
}

function finishCommand(): Command {
  return toRun('finish', 'End a run at its next safe point, with a valid conversation')
    .option('--reason <text>', 'why, for those who read the run later')
    .option('--output <text>', 'the result’s output (default: the last text of the model)')
    .action((id: string, flags: AskFlags & { readonly reason?: string; readonly output?: string }) => {
      const { reason, output } = flags;
      const finish = { ...(reason !== undefined && { reason }), ...(output !== undefined && { output }) };
      return ask(
        id,
        flags,
        (run) => run.forceFinish(finish),
        (at) => `It ends at its next safe point. ${standing(at)}`,
      );
    });
}

function limitsCommand(): Command {
  return withLimitOptions(toRun('limits', 'Change limits of a run; those not named stay')).action(
    (id: string, flags: AskFlags & LimitFlags) => {
      const limits = limitsOf(flags);
      if (limits === undefined) {
        throw new CliError('Name at least one limit: --turns, --tokens, --usd, --duration or --tool-calls.');
      }
      return ask(
        id,
        flags,
        (run) => run.setLimits(limits),
        (answer) => {
          const all = Object.entries(answer).map(([name, { limit, left }]) =>
            name === 'durationMs'
              ? `duration ${durationText(limit)} (${durationText(left)} left)`
              : `${name} ${limit} (${left} left)`,
          );
          return `In force now: ${all.join(', ')}.`;
        },
      );
    },
  );
}

/** The one that the server takes by itself. */
function cancelCommand(): Command {
  return toRun('cancel', 'Cancel a run; its tools and model call are told').action((id: string, flags: AskFlags) =>
    withSession(flags, async (session) => {
      const { taskQueue } = await describeRun(session, id);
      await session.client.handle(id).cancel();
      if (flags.json) printJson({ id, asked: 'cancel' });
      else printLine(`Asked to cancel the run ${id}; \`everlap watch ${id}\` shows its end.`);
      if (await workerPolls(session, taskQueue)) return;
      note(`No worker polls the run's task queue "${taskQueue}": it ends as soon as one does.`);
    }),
  );
}

function standing({ status, phase, lap, turn }: StandingAnswer): string {
  return `The run: ${status}${phase === status || phase === 'ended' ? '' : ` (${phase})`}, turn ${turn}${lap > 1 ? `, lap ${lap}` : ''}.`;
}
