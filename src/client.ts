/**
 * `everlap/client`: starting runs and speaking to them. A thin, typed layer: all of it can be done with the plain
 * `@temporalio/client` and the names on the wire as well.
 */
export { EverlapClient } from './client/everlap-client.js';
export type { FollowUpReply } from './client/follow-up.js';
export type {
  Answered,
  ConnectOptions,
  EverlapClientOptions,
  ListOptions,
  RunListing,
  StartOptions,
  StartWithFollowUp,
  StartWithOutput,
} from './client/everlap-client.js';
export { RunArgumentError, RunBusyError, RunEndedError, RunNotFoundError } from './client/errors.js';
export { RunHandle } from './client/run-handle.js';
export type { RunResult, SessionAnswer } from './client/typed-result.js';
export type {
  AnsweredMessage,
  AnswerMessage,
  ApproveMessage,
  DecidedAnswer,
  DenyMessage,
  ForceFinishArgument,
  LimitsAnswer,
  MessagesArgument,
  MessagesPage,
  PendingView,
  QueuedAnswer,
  QueuedMessage,
  RememberMessage,
  RunView,
  StandingAnswer,
  TextArgument,
} from './workflows/messages.js';
export type { Mode } from './agents/mode.js';
export type * from './watch/agent-event.js';
export type { EventsOptions } from './watch/follow-history.js';
export type { LiveOptions } from './watch/live.js';
export { showText, type ShownText, type ToShow } from './watch/shown-text.js';
