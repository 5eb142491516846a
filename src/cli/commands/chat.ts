/** `everlap chat`: a conversation with an agent, line by line; it goes on where it was left. */
import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import type { RunSettings } from '../../agents/run-input.js';
import { RunEndedError, RunNotFoundError, type RunHandle } from '../../client.js';
import { CliError, sentenceOf } from '../cli-error.js';
import { showAnswer, type Shown } from '../chat-answer.js';
import { endedText, otherAgentNote, upToNow, type UpToNow } from '../chat-end.js';
import { agentConfig, type KnownAgent } from '../config-file.js';
import { withSession, type Session } from '../connect.js';
import { decideHere } from '../decide-here.js';
import { EXIT } from '../exit-codes.js';
import { onInterrupt } from '../interrupts.js';
import { command, optionsText, quoted, type CommonFlags } from '../options.js';
import { note, printable, printLine, styled } from '../output.js';
import { settingsOf } from '../settings.js';
import { tellWaiting } from '../tell-waiting.js';
import { isAttended, Terminal } from '../terminal.js';
import { Transcript } from '../transcript.js';
import { lookForWorker } from '../workers.js';

interface Flags extends CommonFlags {
  readonly id?: string;
  readonly settings?: string;
}

interface Chat {
  readonly session: Session;
  readonly agent: string;
  readonly run: RunHandle;
  readonly flags: Flags;
  readonly settings: RunSettings | undefined;
  readonly terminal: Terminal;
  /** Leaves the chat. */
  readonly signal: AbortSignal;
}

const HELP = `
Each line is a message. /end ends the conversation, end of input (Ctrl-D) or Ctrl-C leaves it open: the same command with
the --id goes on with it. Lines may come through a pipe.`;

export function chatCommand(finish: (code: number) => void): Command {
  return command('chat', 'Talk with an agent; a conversation is a run, and goes on under its id')
    .argument('<agent>', 'the agent’s name')
    .option('--id <id>', 'the conversation’s id (default: the agent’s name and something random)')
    .option('--settings <json>', 'what a new run has otherwise than its agent, such as {"session":{}}')
    .addHelpText('after', HELP)
    .action(async (agent: string, flags: Flags) => finish(await chat(agent, flags)));
}

async function chat(agent: string, flags: Flags): Promise<number> {
  if (flags.id?.trim() === '') throw new CliError('The --id is empty; leave it out for one that is made up.');
  const known = await agentConfig(agent, flags);
  const settings = withSessionAtAll(known, settingsOf(flags.settings, undefined));
  return withSession({ ...flags, ...known }, async (session) => {
    await lookForWorker(session, known.taskQueue, { needed: true });
    const id = flags.id ?? `${agent}-${randomUUID()}`;
    const { signal, stop } = onInterrupt();
    const terminal = new Terminal();
    try {
      const one: Chat = { session, agent, run: session.client.handle(id), flags, settings, terminal, signal };
      printLine(`${styled('bold', 'Chat')} ${id}`);
      return await talk(one, await showSoFar(one));
    } finally {
      terminal.close();
      stop();
    }
  });
}

/** Any agent can be talked with: one without a session of its own gets one. */
function withSessionAtAll({ definition }: KnownAgent, given: RunSettings | undefined): RunSettings | undefined {
  if (definition === undefined || definition.options.session !== undefined) return given;
  return { session: {}, laps: null, ...given };
}

async function talk(one: Chat, before: UpToNow): Promise<number> {
  const { run, terminal, signal, agent, flags } = one;
  let { last: shown, ended } = before;
  for (;;) {
    const line = await terminal.ask(styled('bold', 'you> '), signal);
    if (line?.trim() === '') continue;
    if (line?.trim() === '/end') return end(run);
    const now = await tellEnd(run, shown, signal);
    if (now.ended !== undefined) ({ last: shown, ended } = now);
    if (line === null || signal.aborted) break;
    const said = await say(one, line, shown);
    ended = undefined;
    if (said === 'left') break;
    shown = said;
  }
  if (signal.aborted || isAttended()) printLine();
  const again = `everlap chat ${quoted(agent)} --id ${quoted(run.id)}${optionsText(flags)}`;
  if (ended === undefined) note(`The conversation stays open; to go on with it: ${again}`);
  return signal.aborted ? EXIT.interrupted : EXIT.ok;
}

async function say(one: Chat, line: string, before: Shown): Promise<Shown | 'left'> {
  const { session, agent, run, settings, terminal, signal, flags } = one;
  const asked = session.client.startWithFollowUp({ agent, id: run.id, followUp: line, ...(settings && { settings }) });
  const transcript = new Transcript();
  const done = new AbortController();
  const until = AbortSignal.any([signal, done.signal]);
  const here = { terminal: () => terminal, transcript, options: optionsText(flags) };
  const deciding = isAttended() ? decideHere(run, here, until) : tellWaiting(run, here, until);
  try {
    return await showAnswer(run, asked, { transcript, signal, before });
  } finally {
    done.abort();
    await deciding;
    transcript.stop();
  }
}

async function end(run: RunHandle): Promise<number> {
  try {
    await run.forceFinish({ reason: 'ended in the chat' });
    printLine('The conversation has ended.');
  } catch (error) {
    if (error instanceof RunEndedError) printLine('The conversation has ended already.');
    else if (error instanceof RunNotFoundError) printLine('Nothing was said, so there is nothing to end.');
    else throw error;
  }
  return EXIT.ok;
}

/** What was said before, where the conversation is there already. */
async function showSoFar({ agent, run, signal }: Chat): Promise<UpToNow> {
  try {
    const messages = await run.messages();
    const now = await upToNow(run, null, { signal, onRetry: tellRetry });
    if (now.agent !== undefined) {
      const other = otherAgentNote(run.id, { named: agent, began: now.agent, now: (await run.state()).agent });
      if (other !== undefined) note(other);
    }
    for (const message of messages) {
      if (message.role === 'user' && (message.kind === 'task' || message.kind === 'follow_up')) {
        printLine(`${styled('bold', 'you>')} ${printable(message.text)}`);
      } else if (message.role === 'assistant' && message.text.trim() !== '') printLine(printable(message.text));
    }
    if (now.ended !== undefined) tellEnded(now.ended);
    return now;
  } catch (error) {
    if (error instanceof RunNotFoundError) return { last: null };
    throw error;
  }
}

/** Says it where the conversation has ended since the last event that was shown: what is said next, it does not hear. */
async function tellEnd(run: RunHandle, shown: Shown, signal: AbortSignal): Promise<UpToNow> {
  const now = await upToNow(run, shown, { signal, onRetry: tellRetry });
  if (now.ended !== undefined) tellEnded(now.ended);
  return now;
}

function tellEnded(why: string): void {
  printLine(styled('yellow', endedText(why)));
}

function tellRetry(error: Error): void {
  note(`The connection is lost and tried again (${sentenceOf(error)}).`);
}
