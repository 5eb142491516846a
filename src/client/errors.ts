/** What can go wrong when a run is spoken to, as types of our own. */
import {
  isGrpcServiceError,
  QueryNotRegisteredError,
  ServiceError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { z } from 'zod';
import { STATUSES, type Status } from '../agents/result.js';
import { BAD_ARGUMENT, RUN_ENDED } from '../agents/wire.js';

interface RunErrorOptions extends ErrorOptions {
  readonly runId?: string | undefined;
}

class RunError extends Error {
  /** The run's id, where one is known. */
  readonly runId?: string;

  constructor(message: string, options?: RunErrorOptions) {
    super(message, options);
    if (options?.runId !== undefined) this.runId = options.runId;
  }
}

/** The run has ended, so nobody is there to take it. Where it has failed, the message says why. */
export class RunEndedError extends RunError {
  override readonly name = 'RunEndedError';
  /** How it ended, where the run itself has said so. */
  readonly status?: Status;

  constructor(message: string, options?: RunErrorOptions & { readonly status?: Status | undefined }) {
    super(message, options);
    if (options?.status !== undefined) this.status = options.status;
  }
}

/** There is no run of this id in the namespace. */
export class RunNotFoundError extends RunError {
  override readonly name = 'RunNotFoundError';
}

/** What was sent is refused, by the run or before it was sent; the message says why. Nothing was changed. */
export class RunArgumentError extends RunError {
  override readonly name = 'RunArgumentError';
}

/**
 * Not now; nothing was changed. The server takes no further update of this run for a while (a signal it takes all the same),
 * or its conversation changes too fast to be read whole.
 */
export class RunBusyError extends RunError {
  override readonly name = 'RunBusyError';
}

const ENDED = z.object({ status: z.enum(STATUSES) });

/** The server's words for its limits of 10 updates at once, and 2,000 over one execution. */
const UPDATE_LIMIT = /^(the )?limit on (the )?(total )?number of .*updates/i;

/** Turns what Temporal says into one of the errors above; what is none of them stays as it is. */
export function toRunError(error: unknown, runId: string, what: string): unknown {
  const about = { cause: error, runId };
  if (error instanceof WorkflowUpdateFailedError && error.cause instanceof ApplicationFailure) {
    // The server's word for an update that was under way when the run was terminated or timed out.
    if (error.cause.type === 'AcceptedUpdateCompletedWorkflow') {
      return new RunEndedError(`The run ${runId} was ended from outside before it answered ${what}.`, about);
    }
    if (error.cause.type === RUN_ENDED) {
      const { status } = ENDED.safeParse(error.cause.details?.[0]).data ?? {};
      return new RunEndedError(named(error.cause.message, runId), { ...about, status });
    }
    if (error.cause.type === BAD_ARGUMENT) return new RunArgumentError(error.cause.message, about);
  }
  // What a query handler throws comes as this error, whatever it is.
  if (error instanceof QueryNotRegisteredError && error.message.startsWith(`${what} was refused: `)) {
    return new RunArgumentError(error.message, about);
  }
  if (error instanceof ServiceError && isGrpcServiceError(error.cause) && UPDATE_LIMIT.test(error.cause.details)) {
    return new RunBusyError(
      `The run ${runId} cannot take ${what} as an update now: ${error.cause.details} Wait, or send it as a signal.`,
      about,
    );
  }
  if (error instanceof WorkflowNotFoundError) {
    return /already completed/i.test(error.message)
      ? new RunEndedError(`The run ${runId} has ended; ${what} came too late.`, about)
      : new RunNotFoundError(`There is no run ${runId} in this namespace.`, about);
  }
  return error;
}

/** A run's own words, said to somebody who speaks to more than one. */
function named(message: string, runId: string): string {
  return message.replace(/^The run (?=has|was)/, `The run ${runId} `);
}
