/** The commands by which people decide: approve, deny, answer, mode. What waits for them, `pending` lists. */
import type { Command } from 'commander';
import type { DecidedAnswer } from '../../workflows/messages.js';
import { MODES, type Mode } from '../../agents/mode.js';
import { isJsonObject, type JsonObject } from '../../conversation/json.js';
import { ask, toRun, type AskFlags } from '../ask-run.js';
import { CliError } from '../cli-error.js';

export function decisionCommands(): Command[] {
  return [approveCommand(), denyCommand(), answerCommand(), modeCommand()];
}

type RunFlag = AskFlags & { readonly run?: string };

function onCall(name: string, description: string): Command {
  return toRun(name, description)
    .argument('<call>', 'the call’s id, as `everlap pending` shows it')
    .option('--run <id>', 'the run that waits, where several wait under one call id');
}

function approveCommand(): Command {
  return onCall('approve', 'Let a waiting tool call run')
    .option('--args <json>', 'arguments to run it with, in place of the model’s')
    .option('--remember', 'approve all later calls of this tool in this run as well')
    .action((id: string, callId: string, flags: RunFlag & { readonly args?: string; readonly remember?: true }) => {
      const args = flags.args === undefined ? undefined : parseArgs(flags.args);
      const message = {
        callId,
        ...runOf(flags),
        ...(args && { args }),
        ...(flags.remember && { remember: 'tool' as const }),
      };
      return ask(id, flags, (run) => run.approve(message), decided);
    });
}

function denyCommand(): Command {
  return onCall('deny', 'Refuse a waiting tool call; the model goes on without it')
    .option('--reason <text>', 'why: the model reads it')
    .action((id: string, callId: string, flags: RunFlag & { readonly reason?: string }) => {
      const reason = flags.reason === undefined ? {} : { reason: flags.reason };
      return ask(id, flags, (run) => run.deny({ callId, ...runOf(flags), ...reason }), decided);
    });
}

function answerCommand(): Command {
  return onCall('answer', 'Answer a question of an agent')
    .argument('<text>', 'the answer')
    .action((id: string, callId: string, text: string, flags: RunFlag) =>
      ask(id, flags, (run) => run.answer({ callId, ...runOf(flags), text }), decided),
    );
}

function modeCommand(): Command {
  return toRun('mode', 'What a run may do without asking: ask, auto (only tools marked always ask), plan (no effects)')
    .argument('<mode>', MODES.join(', '))
    .action((id: string, mode: string, flags: AskFlags) => {
      const known: Mode | undefined = MODES.find((one) => one === mode);
      if (known === undefined) throw new CliError(`"${mode}" is no mode; it must be one of ${MODES.join(', ')}.`);
      return ask(
        id,
        flags,
        (run) => run.setMode(known),
        (answer) => `The run is in mode ${answer.mode}.`,
      );
    });
}

function runOf({ run }: RunFlag): { run?: string } {
  return run === undefined ? {} : { run };
}

function parseArgs(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (isJsonObject(value)) return value;
  throw new CliError('--args must be a JSON object, for example --args \'{"usd": 5}\'.');
}

function decided({ callId, state, run }: DecidedAnswer): string {
  return state === 'passed_on'
    ? `The call ${callId} waits in the run ${run}, which has been told.`
    : `The call ${callId} is ${state}.`;
}
