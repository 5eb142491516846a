/** `RunHandle`: one run, spoken to by its id. Needs no execution id: continue-as-new goes unnoticed. */
import type { Client, WorkflowHandle } from '@temporalio/client';
import type { AgentOutput } from '../agents/output-schema.js';
import type { LimitOptions } from '../agents/limits.js';
import type { Message } from '../conversation/message.js';
import type { Mode } from '../agents/mode.js';
import type {
  AnswerMessage,
  ApproveMessage,
  DecidedAnswer,
  DenyMessage,
  FollowUpAnswer,
  ForceFinishArgument,
  LimitsAnswer,
  MessagesArgument,
  MessagesPage,
  QueuedAnswer,
  RunView,
  StandingAnswer,
  TextArgument,
} from '../workflows/messages.js';
import type { AgentEvent, LiveEvent } from '../watch/agent-event.js';
import { followHistory, type EventsOptions } from '../watch/follow-history.js';
import { live, type LiveOptions } from '../watch/live.js';
import { RunEndedError, toRunError } from './errors.js';
import { awaitResult } from './await-result.js';
import { untilAnswered, type FollowUpReply } from './follow-up.js';
import { sendUpdate } from './send-update.js';
import { typedAnswer, typedResult, type RunResult } from './typed-result.js';
import { wholeConversation } from './whole-conversation.js';
import { withReason } from './why-failed.js';

/** `Output`: what the run's output is, where it was started with an agent that has an `output`. */
export class RunHandle<Output = string | null> {
  /** The plain Temporal handle, for all that Everlap does not wrap. */
  readonly temporal: WorkflowHandle;

  constructor(
    private readonly client: Client,
    readonly id: string,
    private readonly output?: AgentOutput<Output>,
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

  /**
   * Words for the moment where the agent would otherwise finish; resolves when the run has taken them into its queue. In a
   * session: the next message, and this resolves with its answer: parsed, where the agent has an `output` and has answered.
   * @throws as {@link steer}. RunEndedError too where a session ends before it has taken the message.
   */
  async followUp(text: TextArgument): Promise<FollowUpReply<Output>> {
    const taken = await untilAnswered(text, (message) => this.update<FollowUpAnswer>('followUp', message));
    return 'answer' in taken ? typedAnswer(this.id, taken, this.output) : taken;
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

  /** Approves a waiting call. @throws RunArgumentError for an id that is unknown, decided or closed, or arguments that do not fit. */
  approve(call: ApproveMessage): Promise<DecidedAnswer> {
    return this.update('approve', call);
  }

  /** Denies a waiting call; the model reads the reason. @throws as {@link approve}. */
  deny(call: DenyMessage): Promise<DecidedAnswer> {
    return this.update('deny', call);
  }

  /** Answers a question of `ask_human`. @throws as {@link approve}. */
  answer(answer: AnswerMessage): Promise<DecidedAnswer> {
    return this.update('answer', answer);
  }

  /** What may run without asking: `ask`, `auto`, `plan`. @throws as {@link steer}. */
  setMode(mode: Mode): Promise<{ readonly mode: Mode }> {
    return this.update('setMode', mode);
  }

  /** Asks Temporal to cancel the run; {@link result} tells when it is. @throws RunEndedError, RunNotFoundError. */
  cancel(): Promise<void> {
    return this.guard('cancel', async () => {
      // A cancel of a closed workflow the server takes, and says nothing.
      const { closeTime } = await this.temporal.describe();
      if (closeTime) throw new RunEndedError(`The run ${this.id} has ended; cancel came too late.`, { runId: this.id });
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

  /**
   * The current lap's conversation, whole, as it stood at one moment.
   * @throws RunBusyError where it changed each time between two of its pages.
   */
  async messages(): Promise<Message[]> {
    return wholeConversation(this.id, (page) => this.messagesPage(page));
  }

  /** Waits for the end. An AgentResult for every way to end, failed and cancelled included. @throws RunNotFoundError. */
  async result(): Promise<RunResult<Output>> {
    const result = await this.guard('result', () => awaitResult(this.client, this));
    // Without a form, Output is its default: the text as it is.
    return this.output ? typedResult(this.id, result, this.output) : (result as RunResult<Output>);
  }

  /**
   * What happens in the run, from its start or from after an event, until it has ended; of a run that has ended, all that
   * happened. Made of its Temporal history: no worker is needed. Lost connections are tried again.
   * @throws RunNotFoundError, or RunArgumentError where `after` is no event of this run.
   */
  events(options: EventsOptions = {}): AsyncGenerator<AgentEvent, void> {
    return followHistory(this.client, this.id, options);
  }

  /**
   * As {@link events}, and between them what is not in history: tokens while they are made, failed attempts of the model
   * call under way. {@link showText} says what to print. @throws as {@link events}.
   */
  live(options: LiveOptions = {}): AsyncGenerator<LiveEvent, void> {
    return live(this.client, this.id, options);
  }

  private update<Answer>(name: string, argument?: unknown): Promise<Answer> {
    return this.guard(name, () =>
      sendUpdate((updateId) =>
        argument === undefined
          ? this.temporal.executeUpdate<Answer, []>(name, { updateId })
          : this.temporal.executeUpdate<Answer, [unknown]>(name, { updateId, args: [argument] }),
      ),
    );
  }

  private async guard<T>(what: string, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      throw await withReason(this.client, toRunError(error, this.id, what));
    }
  }
}
