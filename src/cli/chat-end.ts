/** The end of a conversation, for the person who talks on: a message after it begins a new one, under the same id. */
import { RunArgumentError, RunNotFoundError, type RunHandle } from '../client.js';
import type { AgentResult } from '../agents/result.js';
import type { Shown } from './chat-answer.js';
import { CliError } from './cli-error.js';
import { quoted } from './options.js';
import { oneLine } from './output.js';

export interface UpToNow {
  /** The last event that there is. */
  readonly last: Shown;
  /** Why the conversation has ended, where it has since. */
  readonly ended?: string;
  /** Whom the conversation began with, where its start was seen and no end after it. */
  readonly agent?: string;
}

/** What became of a conversation after an event of it, or from its start. */
export async function upToNow(
  run: Pick<RunHandle, 'events'>,
  after: Shown,
  options: { readonly signal: AbortSignal; readonly onRetry: (error: Error) => void },
): Promise<UpToNow> {
  let last = after;
  let agent: string | null = null;
  try {
    for await (const event of run.events({ ...options, follow: false, ...(after && { after: after.id }) })) {
      last = event;
      if (event.type === 'run_started') ({ agent } = event);
      if (event.type === 'ended') return { last, ended: whyEnded(event.result) };
    }
    return { last, ...(agent !== null && { agent }) };
  } catch (error) {
    if (error instanceof RunNotFoundError) return { last: null };
    if (error instanceof RunArgumentError) return { last: null, ended: 'the server does not keep it any more' };
    throw error;
  }
}

/**
 * Whom one talks with, where that is another agent than the one that was named.
 * @param began whom the conversation began with.
 * @param now who has it; another one after a handoff.
 * @returns a note where the conversation is the named one's all the same; else nothing.
 * @throws CliError where it is not.
 */
export function otherAgentNote(
  id: string,
  { named, began, now }: { readonly named: string; readonly began: string; readonly now: string },
): string | undefined {
  if (named !== began && named !== now) {
    throw new CliError(
      `The conversation ${id} is with the agent ${now}, not with ${named}; talk on with \`everlap chat ${quoted(began)} --id ` +
        `${quoted(id)}\`, or choose another --id.`,
    );
  }
  if (now === began) return undefined;
  return `The conversation began with the agent ${began} and was handed over: it is with ${now} now.`;
}

export function endedText(why: string): string {
  return `That conversation has ended (${why}). What you say now belongs to a new one, which knows nothing of it.`;
}

export function whyEnded({ status, reason, error, forceFinishReason }: AgentResult): string {
  if (reason === 'answered') return 'nobody said anything more in its time';
  const said = forceFinishReason ?? error;
  const how = reason === status ? status : `${status}, ${reason.replaceAll('_', ' ')}`;
  return said === undefined ? how : `${how}: ${oneLine(said, 300)}`;
}
