/**
 * What became of each message that somebody waits for, or may ask for again.
 * Invariant: an update `followUp` that was accepted in a session is answered once: with the answer to its message, or with
 * `continued` where the run goes on in a new execution, or it is refused since the run has ended.
 */
import type { Reason } from '../agents/result.js';
import { ApplicationFailure, CancellationScope, condition } from '@temporalio/workflow';
import { RUN_ENDED } from '../agents/wire.js';
import type { Refused } from './arguments.js';
import type { AnsweredMessage, FollowUpAnswer } from './messages.js';
import type { GivenAnswer, RunState } from './run-state.js';
import type { Run } from './run.js';

/** Answers that are kept for those who ask again, and their characters in all. */
const MAX_KEPT = 20;
const MAX_KEPT_CHARS = 100_000;

/** Notes down how the open message ended, for those who wait for it. */
export function giveAnswer(run: Run, reason: Reason, answer: string | null): void {
  const { state } = run;
  const id = state.message?.id ?? null;
  state.message = null;
  if (id !== null && run.session !== undefined) {
    state.answers = [...state.answers, { id, turn: state.turns, reason, answer }];
  }
  state.answers = keptAnswers(state.answers, run.awaited);
}

/** What somebody waits for; the rest while it is small. */
export function keptAnswers(
  answers: readonly GivenAnswer[],
  awaited: ReadonlySet<string> = new Set(),
): readonly GivenAnswer[] {
  let chars = 0;
  const kept: GivenAnswer[] = [];
  for (const given of answers.toReversed()) {
    if (awaited.has(given.id)) kept.unshift(given);
    else if (kept.length < MAX_KEPT) {
      chars += given.answer?.length ?? 0;
      kept.unshift(chars <= MAX_KEPT_CHARS ? given : { ...given, answer: null, forgotten: true });
    }
  }
  return kept;
}

/**
 * Waits for the answer to a message; outside of a session only for the knowledge that it is none.
 * @throws ApplicationFailure RunEnded, where the run ends before it has taken the message.
 */
export async function awaitAnswer(run: Run, id: string, position: number): Promise<FollowUpAnswer | Refused> {
  await until(() => run.specIfKnown !== null || run.leaving !== null);
  if (run.specIfKnown !== null && run.session === undefined) return { position };
  run.awaited.add(id);
  try {
    await until(() => run.leaving !== null || !isUnderWay(run.state, id));
    const given = run.state.answers.find((one) => one.id === id);
    if (given !== undefined) return asAnswered(given, position);
    if (run.leaving === 'next_execution') return { position, id, continued: true };
    if (run.leaving === 'end') throw ended(run);
    return lost(id);
  } finally {
    run.awaited.delete(id);
  }
}

function asAnswered({ forgotten, ...given }: GivenAnswer, position: number): AnsweredMessage | Refused {
  return forgotten ? lost(given.id) : { position, ...given };
}

function isUnderWay({ message, followUps }: RunState, id: string): boolean {
  return message?.id === id || followUps.some((waiting) => waiting.id === id);
}

function lost(id: string): Refused {
  return {
    refused: `the message ${id} was taken before, and its answer is not at hand any more; see \`messages\`.`,
  };
}

function ended({ ending }: Run): ApplicationFailure {
  const { status, reason } = ending ?? { status: 'cancelled', reason: 'cancelled' };
  return ApplicationFailure.create({
    message: `The run has ended (${reason}) before it took this message; its result has it under unconsumedSteering.`,
    type: RUN_ENDED,
    nonRetryable: true,
    details: [{ status, reason }],
  });
}

/** A cancelled run answers as well. */
async function until(happened: () => boolean): Promise<void> {
  await CancellationScope.nonCancellable(() => condition(happened));
}
