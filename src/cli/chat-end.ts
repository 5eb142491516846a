/** The end of a conversation, for the person who talks on: a message after it begins a new one, under the same id. */
import { RunArgumentError, RunNotFoundError, type RunHandle } from '../client.js';
import type { AgentResult } from '../agents/result.js';
import type { Shown } from './chat-answer.js';
import { oneLine } from './output.js';

export interface UpToNow {
  /** The last event that there is. */
  readonly last: Shown;
  /** Why the conversation has ended, where it has since. */
  readonly ended?: string;
}

/** What became of a conversation after an event of it, or from its start. */
export async function upToNow(
  run: Pick<RunHandle, 'events'>,
  after: Shown,
  options: { readonly signal: AbortSignal; readonly onRetry: (error: Error) => void },
): Promise<UpToNow> {
  let last = after;
  try {
    for await (const event of run.events({ ...options, follow: false, ...(after && { after: after.id }) })) {
      last = event;
      if (event.type === 'ended') return { last, ended: whyEnded(event.result) };
    }
    return { last };
  } catch (error) {
    if (error instanceof RunNotFoundError) return { last: null };
    if (error instanceof RunArgumentError) return { last: null, ended: 'the server does not keep it any more' };
    throw error;
  }
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
