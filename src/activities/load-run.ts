/**
 * A run's spec and conversation for an activity: from the worker's cache, else from the run's own `messages` query. So
 * any worker can take any turn, without a database, and one that lost its memory pays one query.
 */
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { AgentSpec } from '../agents/spec.js';
import { NOT_LOADED, UNKNOWN_HEAD } from '../agents/wire.js';
import type { Head, Message } from '../conversation/message.js';
import type { MessagesArgument, MessagesPage } from '../workflows/messages.js';
import { extendHash } from './conversation-hash.js';
import { errorText } from './error-text.js';
import type { RunCache } from './run-cache.js';

export interface LoadedRun {
  readonly spec: AgentSpec;
  /** Base and delta together. */
  readonly messages: readonly Message[];
  /** Chain hash over them. */
  readonly hash: string;
}

export interface Wanted {
  readonly spec: string;
  readonly base: Head;
  readonly delta: readonly Message[];
}

/** @throws ApplicationFailure where the run answers with another spec or conversation than was asked for, or not at all. */
export async function loadRun(cache: RunCache, wanted: Wanted): Promise<LoadedRun> {
  const { base, delta } = wanted;
  let spec = cache.spec(wanted.spec);
  // A base without a hash: the new messages were too large to be sent, and are to be asked for with all the others.
  let prefix = base.length === 0 ? [] : base.hash === '' ? undefined : cache.conversation(base.hash);
  if (spec === undefined || prefix === undefined) {
    cache.misses += 1;
    const asked = await askRun(prefix === undefined ? base.length : 0, spec === undefined).catch(rethrow);
    spec ??= checkedSpec(asked.spec, wanted.spec);
    prefix ??= checkedPrefix(asked.messages, base);
    cache.keepSpec(spec);
    if (base.hash !== '') cache.keepConversation(base.hash, prefix, '');
  }
  const hash = base.hash === '' ? extendHash('', prefix) : base.hash;
  return { spec, messages: [...prefix, ...delta], hash: extendHash(hash, delta) };
}

async function askRun(
  length: number,
  withSpec: boolean,
): Promise<{ messages: Message[]; spec: AgentSpec | undefined }> {
  const { client, info } = Context.current();
  const execution = info.workflowExecution;
  if (execution === undefined)
    throw ApplicationFailure.nonRetryable('This activity was not started by a run.', 'internal');
  const handle = client.workflow.getHandle(execution.workflowId, execution.runId);
  const messages: Message[] = [];
  let spec: AgentSpec | undefined;
  do {
    const first = messages.length === 0 && withSpec;
    const page: MessagesPage = await handle.query<MessagesPage, [MessagesArgument]>('messages', {
      from: messages.length,
      limit: length - messages.length,
      ...(first && { spec: true }),
    });
    if (first) spec = page.spec;
    messages.push(...page.messages);
    if (page.messages.length === 0) break;
  } while (messages.length < length);
  return { messages, spec };
}

/** The query failed: no worker answered for the run in time. That is nothing against the model. */
function rethrow(error: unknown): never {
  const { cancellationSignal } = Context.current();
  if (cancellationSignal.aborted) throw cancellationSignal.reason;
  if (error instanceof ApplicationFailure) throw error;
  throw ApplicationFailure.retryable(
    `The run could not be asked for its conversation: ${errorText(error)}`,
    NOT_LOADED,
  );
}

function checkedSpec(spec: AgentSpec | undefined, hash: string): AgentSpec {
  if (spec?.hash === hash) return spec;
  throw ApplicationFailure.retryable(
    `The run has spec ${spec?.hash ?? 'none'}, not ${hash} that this call asks for.`,
    NOT_LOADED,
  );
}

function checkedPrefix(messages: readonly Message[], base: Head): readonly Message[] {
  if (messages.length !== base.length) {
    throw ApplicationFailure.retryable(
      `The run has ${messages.length} messages, not the ${base.length} that this call builds on.`,
      NOT_LOADED,
    );
  }
  if (base.hash === '' || extendHash('', messages) === base.hash) return messages;
  throw ApplicationFailure.nonRetryable(
    `The run's first ${base.length} messages are not those that this call builds on (hash ${base.hash}).`,
    UNKNOWN_HEAD,
  );
}
