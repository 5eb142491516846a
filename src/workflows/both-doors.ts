/**
 * A signal and the update of the same name, answered by one handler: the update answers, or refuses with a sentence; the
 * signal can only be logged, and noted in `state`. A bad argument changes nothing at either door.
 */
import type { SignalDefinition, UpdateDefinition } from '@temporalio/common';
import { ApplicationFailure, currentUpdateInfo, isCancellation, setHandler } from '@temporalio/workflow';
import { BAD_ARGUMENT, RUN_ENDED } from '../agents/wire.js';
import { isRefused, type Refused } from './arguments.js';
import type { Run } from './run.js';

/** How a message is handled. */
export interface Handling<Parsed, Answer> {
  readonly parse: (argument: unknown) => Parsed | Refused;
  /** Refuses an update before it is accepted, for what can be told from the run's state at once. */
  readonly check?: (parsed: Parsed) => Refused | undefined;
  readonly handle: (parsed: Parsed) => Answer | Refused | Promise<Answer | Refused>;
  /**
   * What only an update waits for, a repeated one too: what this answers, which may be long, is not remembered, only what
   * `handle` did.
   */
  readonly settle?: (parsed: Parsed, answer: Answer) => Promise<Answer | Refused>;
}

/**
 * Updates whose answers are remembered. Within one execution the server handles an id once. But one that was answered
 * in the same workflow task as continue-as-new may be given to the next execution again (temporalio/temporal#6375); the
 * server lets 10 be under way at once.
 */
const MAX_ANSWERED_UPDATES = 20;

export function onBoth<Args extends unknown[], Parsed extends object, Answer>(
  run: Run,
  signal: SignalDefinition<Args>,
  update: UpdateDefinition<Answer, Args>,
  { parse, check, handle, settle }: Handling<Parsed, Answer>,
): void {
  const ignored = ({ refused }: Refused): void => run.note(`The signal ${signal.name} was ignored: ${refused}`);
  setHandler(signal, async (...args) => {
    run.messagesReceived += 1;
    const parsed = parse(args[0]);
    try {
      // Awaited only where there is something to wait for: a signal is to be taken in the task that brings it. The run waits
      // for it before it ends or goes on in a new execution, since an activity of the handler may be under way.
      const handled = isRefused(parsed) ? parsed : handle(parsed);
      const answer = handled instanceof Promise ? await handled : handled;
      if (isRefused(answer)) ignored(answer);
    } catch (error) {
      if (!isCancellation(error)) throw error;
    }
  });
  setHandler(
    update,
    async (...args) => {
      run.messagesReceived += 1;
      const key = updateKey(update.name);
      const before = run.state.answeredUpdates.find((one) => one.key === key);
      // The key has the update's name in it, so the answer is one of its own.
      if (before !== undefined && settle === undefined) return before.answer as Answer;
      const parsed = accepted(update.name, parse(args[0]));
      let answer = before?.answer as Answer | undefined;
      if (answer === undefined) {
        answer = accepted(update.name, await untilCancelled(update.name, handle(parsed)));
        run.state.answeredUpdates = [...run.state.answeredUpdates, { key, answer }].slice(-MAX_ANSWERED_UPDATES);
      }
      return settle === undefined
        ? answer
        : accepted(update.name, await untilCancelled(update.name, settle(parsed, answer)));
    },
    {
      validator: (...args) => {
        if (run.state.answeredUpdates.some(({ key }) => key === updateKey(update.name))) return;
        if (run.ending !== null) {
          const message = `The run has ended (${run.ending.reason}); ${update.name} came too late.`;
          const { status, reason } = run.ending;
          const details = [{ status, reason }];
          throw ApplicationFailure.create({ message, type: RUN_ENDED, nonRetryable: true, details });
        }
        const parsed = accepted(update.name, parse(args[0]));
        accepted(update.name, check?.(parsed) ?? parsed);
      },
    },
  );
}

/** Whoever waits for an answer is told of a cancel as of every other end. */
async function untilCancelled<T>(name: string, handled: T | Promise<T>): Promise<T> {
  try {
    return await handled;
  } catch (error) {
    if (!isCancellation(error)) throw error;
    throw ApplicationFailure.nonRetryable(`The run was cancelled before it had answered ${name}.`, RUN_ENDED);
  }
}

function updateKey(name: string): string {
  return `${name}/${currentUpdateInfo()?.id}`;
}

/** @throws ApplicationFailure, type BadArgument, for what was refused. */
export function accepted<T>(name: string, parsed: T | Refused): T {
  if (!isRefused(parsed)) return parsed;
  throw ApplicationFailure.nonRetryable(`${name} was refused: ${parsed.refused}`, BAD_ARGUMENT);
}
