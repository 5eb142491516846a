/** One message of a chat: what happens until it is answered, and the words of the answer as they come. */
import { setTimeout as sleep } from 'node:timers/promises';
import { RunArgumentError, RunNotFoundError, type AnsweredMessage, type RunHandle } from '../client.js';
import type { LiveEvent } from '../watch/agent-event.js';
import { endedText, whyEnded } from './chat-end.js';
import { note, printable, styled } from './output.js';
import type { Transcript } from './transcript.js';

/** Events come a moment after the answer at most. */
const EVENTS_AFTER_MS = 3000;
const TRY_AGAIN_MS = 100;

export interface Showing {
  readonly transcript: Pick<Transcript, 'show' | 'keepUp' | 'line'>;
  /** Leaves, before the answer is there. */
  readonly signal: AbortSignal;
  readonly before: Shown;
}

/** The last event that was shown. */
export type Shown = { readonly id: string; readonly time: string } | null;

/** Shows what happens until the message is answered. */
export async function showAnswer(
  run: Pick<RunHandle, 'live'>,
  asked: Promise<AnsweredMessage>,
  { transcript, signal, before }: Showing,
): Promise<Shown | 'left'> {
  const stop = new AbortController();
  let last = before;
  let shownTurn = 0;
  let turnWanted = Infinity;
  let ended: string | undefined;
  const show = (event: LiveEvent): void => {
    // Of a run before this one; or of this one, which is told with the next message.
    if (event.type === 'ended') {
      ended = whyEnded(event.result);
      return;
    }
    if (event.type === 'run_started' && ended !== undefined) transcript.line(styled('yellow', endedText(ended)));
    if ('id' in event) last = event;
    if (!isOfChat(event)) return transcript.keepUp(event);
    transcript.show(event);
    if (event.type === 'model_answered' && event.toolCalls.length === 0) shownTurn = event.turn;
    if (shownTurn >= turnWanted) stop.abort();
  };
  const showing = followFrom(run, before, AbortSignal.any([signal, stop.signal]), show);
  const left = new Promise<'left'>((resolve) =>
    signal.addEventListener('abort', () => resolve('left'), { once: true }),
  );
  try {
    const answered = await Promise.race([asked, left]);
    if (answered === 'left') {
      // It is answered all the same; nobody waits for it here.
      asked.catch(() => undefined);
      return 'left';
    }
    turnWanted = answered.turn;
    if (answered.reason === 'answered' && shownTurn < turnWanted) {
      await Promise.race([showing, sleep(EVENTS_AFTER_MS, undefined, { signal: stop.signal }).catch(() => undefined)]);
    }
    if (answered.answer === null) note(`No answer: ${answered.reason.replaceAll('_', ' ')}.`);
    else if (shownTurn < turnWanted) transcript.line(printable(answered.answer));
    return last;
  } finally {
    stop.abort();
    await showing;
  }
}

/** Of a chat one sees the words, the tools, and what goes wrong. */
function isOfChat({ type }: LiveEvent): boolean {
  switch (type) {
    case 'run_started':
    case 'turn_started':
    case 'follow_up_received':
    case 'follow_up_taken':
    case 'idle':
    case 'resumed':
    case 'waiting':
    case 'decision_received':
    case 'continued_as_new':
      return false;
    default:
      return true;
  }
}

/**
 * Events are an extra here: the answer is not lost without them. Where the run of this id has ended, those of the one that
 * follows it are waited for.
 */
async function followFrom(
  run: Pick<RunHandle, 'live'>,
  before: Shown,
  signal: AbortSignal,
  show: (event: LiveEvent) => void,
): Promise<void> {
  let last = before;
  for (let after = before?.id; !signal.aborted; after = undefined) {
    // From its start: what was shown of it is not shown again.
    const seenUntil = after === undefined ? (last?.time ?? '') : '';
    try {
      for await (const event of run.live({ signal, ...(after !== undefined && { after }) })) {
        if ('id' in event && event.time <= seenUntil) continue;
        if ('id' in event) last = event;
        show(event);
      }
    } catch (error) {
      if (!(error instanceof RunArgumentError || error instanceof RunNotFoundError)) return;
    }
    if (!signal.aborted) await sleep(TRY_AGAIN_MS, undefined, { signal }).catch(() => undefined);
  }
}
