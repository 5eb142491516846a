/**
 * Between two messages: the next one is taken up, or a session waits for it, or the run ends. And what the end of a
 * message means.
 */
import { condition } from '@temporalio/workflow';
import type { Ending } from '../agents/result.js';
import { openCalls } from '../conversation/conversation.js';
import { giveAnswer } from './answers.js';
import { takeOver } from './hand-over.js';
import { continueIfDue, mustContinue } from './continue-as-new.js';
import { summarise } from './ending.js';
import { exhaustedLimit } from './limits.js';
import { endsMessageOnly, openMessage } from './open-message.js';
import { bareOutput } from './output.js';
import { showInSearch } from './presentation.js';
import { takeFollowUp } from './queues.js';
import { closeCalls } from './run-tools.js';
import { safePoint } from './safe-point.js';
import type { Run } from './run.js';

const ANSWERED: Ending = { status: 'completed', reason: 'answered' };

/** Takes the next message up, where none is open. Returns the ending where there is none to come. */
export async function nextMessage(run: Run): Promise<Ending | undefined> {
  const { state } = run;
  run.asking = false;
  while (state.message === null) {
    if (state.followUps.length === 0 && run.session === undefined) return ANSWERED;
    const stop = await safePoint(run);
    if (stop) return stop;
    const limit = state.followUps.length > 0 ? exhaustedLimit(state, run.isPastDeadline) : undefined;
    if (limit) return limit;
    await continueIfDue(run);
    if (state.followUps.length > 0) takeUp(run);
    else if (!(await somethingCame(run))) return ANSWERED;
  }
  return undefined;
}

function takeUp(run: Run): void {
  const { state } = run;
  const next = takeFollowUp(state);
  if (next === null) return;
  openMessage(state, next.id, Date.now());
  // As a new lap does: what was overloaded an hour ago need not be now.
  if (run.session !== undefined) state.modelIndex = 0;
  state.transition = 'follow_up';
  run.say(next.message);
  if (run.phase !== 'idle') return;
  run.enter('starting');
  showInSearch(run);
}

/** Idles. Whether something is to be done; false where the session has waited long enough. Costs one timer, and no ticks. */
async function somethingCame(run: Run): Promise<boolean> {
  const { state, session } = run;
  const came = (): boolean =>
    state.followUps.length > 0 || state.forceFinish !== null || state.paused || run.isPastDeadline || mustContinue(run);
  state.idleSince ??= Date.now();
  if (run.phase !== 'idle') {
    run.enter('idle');
    showInSearch(run);
  }
  const left = state.idleSince + (session?.idleTimeoutMs ?? 0) - Date.now();
  // Never decided by the clock alone, which may say something else when it is replayed.
  await condition(came, Math.max(1, left));
  // Whoever pauses a session, and lets it go on, has something to say.
  if (state.paused) state.idleSince = null;
  return came();
}

/**
 * A message has ended: so. Its answer goes to whoever waits for it. Returns the run's ending, or undefined where it is only
 * the message's.
 */
export async function endMessage(run: Run, ending: Ending): Promise<Ending | undefined> {
  const { state, session } = run;
  if (endsMessageOnly(state, session, ending)) {
    // The model was told so, and the message may have ended in the same turn.
    takeOver(run);
    closeCalls(run, openCalls(state.conversation.messages));
    const answer = await lastWords(run, ending);
    close(run, ending, answer);
    return undefined;
  }
  if (ending.status !== 'completed' || ending.reason !== 'answered' || state.followUps.length === 0) return ending;
  close(run, ending, state.lastText);
  return undefined;
}

/** What was said on the way to no answer is no output of the session; nor is a summary, where answers have a form. */
function close(run: Run, ending: Ending, answer: string | null): void {
  const isOutput = ending.status === 'completed' || (answer !== null && run.spec.output === undefined);
  if (isOutput) run.state.lastAnswer = answer;
  run.state.lastText = null;
  giveAnswer(run, ending.reason, answer);
}

/** The answer to a message, or a summary where its limit is reached and the agent is to give one. */
async function lastWords(run: Run, ending: Ending): Promise<string | null> {
  if (ending.status === 'completed') return bareOutput(run, run.state.lastText);
  if (ending.status !== 'exhausted' || run.spec.onLimit !== 'summarize') return null;
  await summarise(run, ending);
  const summary = run.limitSummary;
  run.limitSummary = null;
  return summary;
}
