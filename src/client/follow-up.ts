/** Messages of a conversation: sent until they are answered, over continue-as-new, and over the end of a run. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { WithStartWorkflowOperation, type Client, type WorkflowStartOptions } from '@temporalio/client';
import type { Workflow } from '@temporalio/common';
import { WORKFLOW_TYPE } from '../agents/wire.js';
import type {
  AnsweredMessage,
  ContinuedMessage,
  FollowUpAnswer,
  QueuedMessage,
  TextArgument,
} from '../workflows/messages.js';
import { checkText } from './check-arguments.js';
import { RunEndedError, toRunError } from './errors.js';
import { sendUpdate } from './send-update.js';
import type { SessionAnswer } from './typed-result.js';
import { withReason } from './why-failed.js';

/** How a follow-up was taken: its place in the queue, or in a session its answer. */
export type FollowUpReply<Output = string | null> = QueuedMessage | SessionAnswer<Output>;

/** Runs that may end, one after the other, at the very moment where a message comes. */
const MAX_RUNS = 5;
const BETWEEN_MS = 100;

/** Sends a message again, under its id, where the run goes on in a new execution before it has answered. */
export async function untilAnswered(
  message: TextArgument,
  send: (message: TextArgument) => Promise<FollowUpAnswer>,
): Promise<Exclude<FollowUpAnswer, ContinuedMessage>> {
  for (let next = message; ;) {
    const taken = await send(next);
    if (!('continued' in taken)) return taken;
    await sleep(BETWEEN_MS);
    next = { text: typeof message === 'string' ? message : message.text, id: taken.id };
  }
}

/**
 * Says something to the run of this id, which is started where none is running, and waits for the answer. A run that ends
 * before it takes the message is followed by a new one, which does.
 * @throws RunEndedError where the run fails before it takes the message, RunArgumentError for a message that is none.
 */
export async function startWithFollowUp(
  client: Client,
  start: WorkflowStartOptions<Workflow> & { readonly workflowId: string },
  message: TextArgument,
): Promise<AnsweredMessage> {
  const named = { id: randomUUID(), ...checkText('followUp', message) };
  const taken = await untilAnswered(named, (next) => overRuns(client, start, next));
  if ('answer' in taken) return taken;
  throw new Error(
    `The run ${start.workflowId} is no session: it has the message in its queue (number ${taken.position}), and its result will have the answer.`,
  );
}

async function overRuns(
  client: Client,
  start: WorkflowStartOptions<Workflow> & { readonly workflowId: string },
  message: TextArgument,
): Promise<FollowUpAnswer> {
  for (let run = 1; ; run += 1) {
    try {
      return await sendUpdate((updateId) =>
        client.workflow.executeUpdateWithStart<Workflow, FollowUpAnswer, [TextArgument]>('followUp', {
          updateId,
          args: [message],
          // The operation may be used once only.
          startWorkflowOperation: new WithStartWorkflowOperation(WORKFLOW_TYPE, {
            workflowIdConflictPolicy: 'USE_EXISTING',
            ...start,
          }),
        }),
      );
    } catch (error) {
      const known = toRunError(error, start.workflowId, 'followUp');
      // Only what the run itself has said: one that somebody terminated is not to begin anew.
      const isFollowed = known instanceof RunEndedError && known.status !== undefined && known.status !== 'failed';
      if (!isFollowed || run === MAX_RUNS) throw await withReason(client, known);
      await sleep(BETWEEN_MS);
    }
  }
}
