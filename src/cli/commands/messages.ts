/** `everlap messages`: the conversation of the run's current lap, as the model sees it. */
import type { Command } from 'commander';
import type { Message } from '../../conversation/message.js';
import { storageOf } from '../config-file.js';
import { withSession } from '../connect.js';
import { command, type CommonFlags } from '../options.js';
import { printable, printJson, printLine, styled } from '../output.js';
import { requireWorkerOf } from '../workers.js';

export function messagesCommand(): Command {
  return command('messages', 'Print the conversation of a run’s current lap')
    .argument('<id>', 'the run’s id')
    .option('--json', 'one message a line, as JSON')
    .action(async (id: string, flags: CommonFlags & { readonly json?: true }) =>
      withSession({ ...flags, ...(await storageOf(flags.config)) }, async (session) => {
        await requireWorkerOf(session, id, 'query');
        const run = session.client.handle(id);
        for (let from: number | null = 0; from !== null;) {
          const page: Awaited<ReturnType<typeof run.messagesPage>> = await run.messagesPage({ from });
          for (const message of page.messages) {
            if (flags.json) printJson(message);
            else show(message);
          }
          from = page.next;
        }
      }),
    );
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
