/** From the reason of an end to the run's result. */
import { ContinueAsNew, isCancellation } from '@temporalio/workflow';
import type { AgentResult, Ending } from '../agents/result.js';
import { callsOf, isEmptyAnswer } from '../conversation/conversation.js';
import { cutText } from '../conversation/cut-text.js';
import { callModel } from './call-model.js';
import { failed } from './run-call.js';
import { bareOutput } from './output.js';
import { unconsumed } from './queues.js';
import { DeadlinePassed, type Run } from './run.js';
import { MAX_FINISH_REASON, type RunState } from './run-state.js';
import { closeCalls } from './run-tools.js';
import { takeForceFinish } from './safe-point.js';

export function isEnding<T extends object>(value: T | Ending): value is Ending {
  return 'status' in value && 'reason' in value;
}

/** What an error out of the loop means. Whatever is not foreseen ends the run as `internal`, rather than failing its workflow task for ever. */
export function endingOf(run: Run, error: unknown): Ending {
  if (error instanceof ContinueAsNew) throw error;
  if (error instanceof DeadlinePassed) return takeForceFinish(run) ?? { status: 'exhausted', reason: 'deadline' };
  if (isCancellation(error)) return { status: 'cancelled', reason: 'cancelled' };
  run.note(`The run failed inside: ${error instanceof Error ? error.message : String(error)}`);
  return { status: 'failed', reason: 'internal' };
}

/**
 * One last call, with tools off, for an exhausted run that is to sum up. Its failure changes nothing of the end; only
 * a cancellation does, by rejecting.
 */
export async function summarise(run: Run, ending: Ending): Promise<Ending> {
  run.say({
    role: 'user',
    kind: 'notice',
    text:
      `${run.ending === null ? 'Your work on this message ends here: its' : 'This run ends here: its'} limit is reached (${ending.reason}). Answer without tools. ` +
      'Sum up for the user what was done, what was found, and what is left open.',
  });
  const answer = await callModel(run, 'last').catch(passDeadline);
  if (answer === null || isEnding(answer)) return ending;
  const { message } = answer.output;
  // Providers refuse a conversation with an empty answer in it.
  if (isEmptyAnswer(message)) return ending;
  run.say(message);
  const notRun = failed(`Not run: the limit is reached (${ending.reason}).`);
  closeCalls(
    run,
    callsOf(message),
    callsOf(message).map(() => notRun),
  );
  if (message.text.trim() !== '') run.limitSummary = message.text;
  return ending;
}

/** The summary itself may come after the deadline, but not what it needs before (a compaction). */
function passDeadline(error: unknown): null {
  if (error instanceof DeadlinePassed) return null;
  throw error;
}

export function resultOf(run: Run, ending: Ending): AgentResult {
  const { state } = run;
  return {
    ...ending,
    output: outputOf(run, ending),
    turns: state.turns,
    laps: state.lap,
    toolCalls: state.toolCalls,
    usage: state.usage,
    costUsd: state.costUsd,
    unconsumedSteering: unconsumed(state),
    ...(ending.status === 'failed' && { error: state.lastError ?? `The run failed: ${ending.reason}.` }),
    ...(ending.reason === 'force_finished' && reasonToFinish(state)),
  };
}

/** For whoever waits for the answer to the open message: never that to the one before. */
export function lastAnswer(run: Run, ending: Ending): string | null {
  return outputOf(run, ending, run.state.lastText);
}

function outputOf(run: Run, ending: Ending, last = run.state.lastText ?? run.state.lastAnswer): string | null {
  const { forceFinish } = run.state;
  switch (ending.status) {
    case 'completed':
      return bareOutput(run, last);
    case 'stopped':
      return ending.reason === 'force_finished' ? (forceFinish?.output ?? last) : null;
    case 'exhausted':
      return run.limitSummary;
    default:
      return null;
  }
}

function reasonToFinish({ forceFinish }: RunState): Pick<AgentResult, 'forceFinishReason'> {
  const reason = forceFinish?.reason;
  return reason === undefined ? {} : { forceFinishReason: cutText(reason, MAX_FINISH_REASON) };
}
