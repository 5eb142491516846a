/** What can go wrong at the command line, as one sentence for the person at the terminal. Prints nothing. */
import {
  isGrpcServiceError,
  QueryNotRegisteredError,
  ServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { NamespaceNotFoundError } from '@temporalio/common';
import { RunBusyError, RunEndedError, RunNotFoundError } from '../client/errors.js';

/** An error whose message is the sentence: what happened, to what, what to do. */
export class CliError extends Error {
  override readonly name = 'CliError';
}

/** Codes of gRPC (grpc/grpc, `doc/statuscodes.md`). */
const CODE = {
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  failedPrecondition: 9,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** Never a stack; `EVERLAP_DEBUG` shows those (see main.ts). */
export function sentenceOf(error: unknown): string {
  if (error instanceof RunNotFoundError) return `${error.message} \`everlap list\` shows the runs that there are.`;
  if (error instanceof RunEndedError || error instanceof RunBusyError) return asCommands(error.message);
  if (error instanceof WorkflowExecutionAlreadyStartedError) {
    return `A run with the id ${error.workflowId} exists already; choose another --id, or look at it: everlap watch ${error.workflowId}`;
  }
  if (error instanceof NamespaceNotFoundError) {
    return `The Temporal server has no namespace "${error.namespace}"; name one that it has with --namespace or TEMPORAL_NAMESPACE.`;
  }
  if (error instanceof QueryNotRegisteredError) {
    return 'This workflow does not answer as a run of Everlap; `everlap list` shows the runs that there are.';
  }
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) {
    return 'The run did not answer in time; is its worker still there? (`everlap doctor` tells.)';
  }
  if (error instanceof WorkflowUpdateFailedError) return error.cause?.message ?? error.message;
  const grpc = error instanceof ServiceError ? error.cause : error;
  if (isGrpcServiceError(grpc)) return ofServer(grpc.code, grpc.details || grpc.message);
  return error instanceof Error ? error.message : String(error);
}

/** Messages to a run whose command is called otherwise. */
const COMMANDS: Readonly<Record<string, string>> = {
  followUp: 'follow-up',
  forceFinish: 'finish',
  setLimits: 'limits',
  setMode: 'mode',
};

/** What the client says of a message, with the name of the command. Reasons of the run itself stay as they are. */
function asCommands(said: string): string {
  return said.replace(
    /(?<=; |it answered |cannot take )\w+(?= came too late|\.| as an update)/,
    (name) => COMMANDS[name] ?? name,
  );
}

function ofServer(code: number, said: string): string {
  switch (code) {
    case CODE.unavailable:
      return `The Temporal server cannot be reached any more (${said}).`;
    case CODE.permissionDenied:
    case CODE.unauthenticated:
      return `The Temporal server refuses this (${said}); check TEMPORAL_API_KEY, the certificates, and --namespace.`;
    case CODE.failedPrecondition:
    case CODE.deadlineExceeded:
      return `Nobody answered for the run (${said}); is a worker there? \`everlap doctor\` tells.`;
    case CODE.invalidArgument:
    case CODE.notFound:
    default:
      return `The Temporal server says: ${said}.`;
  }
}
