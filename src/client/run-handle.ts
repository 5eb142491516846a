/** `RunHandle`: one run, spoken to by its id. Needs no execution id: continue-as-new goes unnoticed. */
import type { Client, WorkflowHandle } from '@temporalio/client';
import type { AgentResult } from '../agents/result.js';
import type { LimitOptions } from '../agents/limits.js';
import type { Message } from '../conversation/message.js';
import type {
  ForceFinishArgument,
  LimitsAnswer,
  MessagesArgument,
  MessagesPage,
  QueuedAnswer,
  RunView,
  StandingAnswer,
  TextArgument,
} from '../workflows/messages.js';
import { toRunError } from './errors.js';
import { awaitResult } from './await-result.js';

export class RunHandle {
  /** The plain Temporal handle, for all that Everlap does not wrap. */
  readonly temporal: WorkflowHandle;

  constructor(
    private readonly client: Client,
    readonly id: string,
  ) {
    this.temporal = client.workflow.getHandle(id);
  }

  /**
   * Puts words before the next model call. Resolves when the run has taken them into its queue.
   * @throws RunEndedError, RunNotFoundError, or RunArgumentError for an empty or giant text.
   */
  steer(text: TextArgument): Promise<QueuedAnswer> {
    return this.update('steer', text);
  }

  /** Words for the moment where the agent would otherwise finish. @throws as {@link steer}. */
  followUp(text: TextArgument): Promise<QueuedAnswer> {
    return this.update('followUp', text);
  }

  /** Ends the run at the next safe point. Answers with where it stood. @throws as {@link steer}. */
  forceFinish(finish?: ForceFinishArgument): Promise<StandingAnswer> {
    return this.update('forceFinish', finish);
  }

  /** Resolves when the run stands still, at its next safe point. @throws as {@link steer}. */
  pause(): Promise<StandingAnswer> {
    return this.update('pause');
  }

  /** @throws as {@link steer}. */
  resume(): Promise<StandingAnswer> {
    return this.update('resume');
  }

  /** Changes the limits given and leaves the others. Answers with all that are in force. @throws as {@link steer}. */
  setLimits(limits: LimitOptions): Promise<LimitsAnswer> {
    return this.update('setLimits', limits);
  }

  /** Asks Temporal to cancel the run; {@link result} tells when it is. @throws RunNotFoundError. */
  cancel(): Promise<void> {
    return this.guard('cancel', async () => {
      await this.temporal.cancel();
    });
  }

  /** Where the run stands, also when it has ended. A worker must be there to answer. */
  state(): Promise<RunView> {
    return this.guard('state', () => this.temporal.query<RunView>('state'));
  }

  /** One page of the current lap's conversation. */
  messagesPage(page: MessagesArgument = {}): Promise<MessagesPage> {
    return this.guard('messages', () => this.temporal.query<MessagesPage, [MessagesArgument]>('messages', page));
  }

  /** The current lap's conversation, whole. */
  async messages(): Promise<Message[]> {
    const messages: Message[] = [];
    for (let from: number | null = 0; from !== null;) {
      const page: MessagesPage = await this.messagesPage({ from });
      messages.push(...page.messages);
      from = page.next;
    }
    return messages;
  }

  /** Waits for the end. An AgentResult for every way to end, failed and cancelled included. @throws RunNotFoundError. */
  result(): Promise<AgentResult> {
    return this.guard('result', () => awaitResult(this.client, this));
  }

  private update<Answer>(name: string, argument?: unknown): Promise<Answer> {
    return this.guard(name, () =>
      argument === undefined
        ? this.temporal.executeUpdate<Answer, []>(name)
        : this.temporal.executeUpdate<Answer, [unknown]>(name, { args: [argument] }),
    );
  }

  private async guard<T>(what: string, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      throw toRunError(error, this.id, what);
    }
  }
}
