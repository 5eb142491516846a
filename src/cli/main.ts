#!/usr/bin/env node
/** The `everlap` command: puts the commands together, and turns whatever went wrong into one sentence and an exit code. */
import { Command, CommanderError } from 'commander';
import { sentenceOf } from './cli-error.js';
import { chatCommand } from './commands/chat.js';
import { controlCommands } from './commands/control.js';
import { decisionCommands } from './commands/decide.js';
import { devCommand } from './commands/dev.js';
import { doctorCommand } from './commands/doctor.js';
import { listCommand } from './commands/list.js';
import { messagesCommand } from './commands/messages.js';
import { pendingCommand } from './commands/pending.js';
import { runCommand } from './commands/run.js';
import { setupCommand } from './commands/setup.js';
import { stateCommand } from './commands/state.js';
import { watchCommand } from './commands/watch.js';
import { workerCommand } from './commands/worker.js';
import { EXIT } from './exit-codes.js';
import { endQuietlyOnBrokenPipe, exitWith, note, printable, styled } from './output.js';
import { packageInfo } from './package-info.js';

let exitCode: number = EXIT.ok;
const finish = (code: number): void => {
  exitCode = code;
};

function program(): Command {
  const everlap = new Command('everlap')
    .description('LLM agents as durable Temporal workflows')
    .version(packageInfo().version);
  const commands = [
    devCommand(finish),
    workerCommand(),
    runCommand(finish),
    chatCommand(finish),
    listCommand(),
    stateCommand(),
    messagesCommand(),
    ...controlCommands(),
    ...decisionCommands(),
    pendingCommand(),
    watchCommand(finish),
    doctorCommand(finish),
    setupCommand(),
  ];
  commands.forEach((command) => everlap.addCommand(command));
  for (const command of [everlap, ...commands]) {
    const hint =
      command === everlap
        ? '`everlap --help` shows the commands.'
        : `\`everlap ${command.name()} --help\` shows its options.`;
    command.exitOverride().configureOutput({
      outputError: (text, write) => write(`${problem(`${oneSentence(text)} ${hint}`)}\n`),
    });
  }
  return everlap;
}

/** Commander's words for a bad option, without its "error: " and its line break before a suggestion. */
function oneSentence(text: string): string {
  const flat = text
    .replace(/^error: /, '')
    .trim()
    .replace(/\s*\n\s*/g, ' ');
  return /[.?)]$/.test(flat) ? flat : `${flat}.`;
}

function problem(sentence: string): string {
  return `${styled('red', 'everlap:', process.stderr)} ${printable(sentence)}`;
}

async function main(): Promise<number> {
  try {
    await program().parseAsync();
    return exitCode;
  } catch (error) {
    // Commander has said it already, or has shown its help.
    if (error instanceof CommanderError) return error.exitCode;
    note(problem(sentenceOf(error)));
    if (process.env['EVERLAP_DEBUG']) console.error(error);
    return EXIT.failed;
  }
}

endQuietlyOnBrokenPipe();
await exitWith(await main());
