/** `everlap messages`: the conversation of the run's current lap, as the model sees it. */
import type { Command } from 'commander';
import { RunBusyError, type RunHandle } from '../../client.js';
import type { Message } from '../../conversation/message.js';
import { CliError } from '../cli-error.js';
import { storageOf } from '../config-file.js';
import { withSession } from '../connect.js';
import { command, quoted, type CommonFlags } from '../options.js';
import { printable, printJson, printLine, styled } from '../output.js';
import { requireWorkerOf } from '../workers.js';

export function messagesCommand(): Command {
  return command('messages', 'Print the conversation of a run’s current lap')
    .argument('<id>', 'the run’s id')
    .option('--json', 'one message a line, as JSON')
    .action(async (id: string, flags: CommonFlags & { readonly json?: true }) =>
      withSession({ ...flags, ...(await storageOf(flags.config)) }, async (session) => {
        await requireWorkerOf(session, id, 'query');
        for (const message of await conversationOf(session.client.handle(id))) {
          if (flags.json) printJson(message);
          else show(message);
        }
      }),
    );
}

async function conversationOf(run: RunHandle): Promise<Message[]> {
  try {
    return await run.messages();
  } catch (error) {
    if (!(error instanceof RunBusyError)) throw error;
    const how = `pause the run first (\`everlap pause ${quoted(run.id)}\`).`;
    throw new CliError(`The conversation of the run ${run.id} changes too fast to be read whole; ${how}`, {
      cause: error,
    });
  }
}

function show(message: Message): void {
  printLine(styled('bold', titleOf(message)));
  if (message.text !== '') printLine(printable(message.text));
  if (message.role === 'assistant') {
    for (const call of message.toolCalls ?? []) {
      printLine(styled('cyan', printable(`→ ${call.name} ${call.arguments} (${call.id})`)));
    }
  }
  printLine();
}

function titleOf(message: Message): string {
  switch (message.role) {
    case 'user':
      return `user (${message.kind})`;
    case 'assistant':
      return 'assistant';
    case 'tool':
      return printable(`${message.name} (${message.isError ? 'error, ' : ''}${message.callId})`);
  }
}
