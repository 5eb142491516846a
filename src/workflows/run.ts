/**
 * One run while it lives in this execution: its state, and what the state cannot say (what it does right now, the scope
 * of its work). Every module beside this one reads and changes the run through here; no module keeps state of its own,
 * since a reused isolate would leak it into other runs.
 */
import { CancellationScope, isCancellation, log, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { AgentResult, Ending } from '../agents/result.js';
import type { AgentRunInput } from '../agents/run-input.js';
import type { Mode } from '../agents/mode.js';
import type { SessionSpec } from '../agents/session.js';
import type { AgentSpec } from '../agents/spec.js';
import { cutText } from '../conversation/cut-text.js';
import type { Message } from '../conversation/message.js';
import { isCarried, stateOf } from './carried.js';
import type { OpenChild } from './children.js';
import { describeProgress } from './presentation.js';
import { deadlineOf, type Used } from './limits.js';
import { limitsInForce } from './open-message.js';
import { newRunState, type ForceFinish, type Phase, type RunState } from './run-state.js';
import { NOTHING_WAITS } from './waiting-calls.js';

export class Run {
  state: RunState;
  /** Somebody has written `carried` by hand. */
  readonly isUnreadable: boolean;
  phase: Phase = 'starting';
  /** The next request is put together or answered: what people say now comes with the one after it. */
  asking = false;
  /** Set when the end is decided: from then on nothing is accepted any more. */
  ending: Ending | null = null;
  /** This execution comes to its end: whoever waits for something that it would do later has to be answered now. */
  leaving: 'next_execution' | 'end' | null = null;
  /** Ids of messages whose answers updates are waiting for. */
  readonly awaited = new Set<string>();
  /** The last words of an exhausted run that sums up. */
  limitSummary: string | null = null;
  /** What the run returns, once it has ended. */
  result: AgentResult | null = null;
  /** Signals and updates seen by this execution, for continue-as-new. */
  messagesReceived = 0;
  /** Child runs that are open, by id: agents that were called as tools. None is, between turns. */
  readonly children = new Map<string, OpenChild>();
  /** Tools that are being asked whether a call needs an approval, or whether its changed arguments are right. */
  gatesAsked = 0;
  /** What the run that called this one was told last of what waits here; it begins with nothing. */
  toldParent = NOTHING_WAITS;
  /** Calls of the answer at hand that are sure to run and have not begun: free ones, and those that were approved. */
  callsToCome = 0;
  /** Calls of the answer at hand that have begun and not ended. */
  callsUnderWay = 0;
  /** Calls of agents in the answer at hand that have not begun: they share what is left of the budget. */
  agentCallsToCome = 0;
  /** To whom the conversation goes over after this turn, and with which spec, once it is known. */
  successor: { readonly agent: string; spec: AgentSpec | null } | null = null;
  private pinned: AgentSpec | null;
  private work: CancellationScope | null = null;
  /** What {@link unlessFinished} is doing. */
  private asked: CancellationScope | null = null;
  private readonly bornAt = Date.now();
  /** The deadline whose timer has fired; `setLimits` may have moved it since. */
  private passed: number | null = null;

  constructor(
    readonly input: AgentRunInput,
    /** Only a workflow of its own may continue as new: another's input is not Everlap's to write. */
    readonly place: 'own_workflow' | 'within_workflow',
    private readonly idWithin?: string,
  ) {
    const { carried } = input;
    this.isUnreadable = carried !== undefined && !isCarried(carried);
    if (carried === undefined || this.isUnreadable) {
      this.state = newRunState(this.task, this.place === 'own_workflow' ? startOfRun() : Date.now());
      this.pinned = null;
      return;
    }
    // Fields that an earlier version did not know yet are as at the start of a run.
    this.state = { ...newRunState(this.task, Date.now()), ...stateOf(carried, this.task) };
    this.pinned = carried.spec ?? null;
    if (this.state.transition !== 'next_lap') this.state.transition = 'continued_as_new';
  }

  /** As text, even where somebody started the run with something else: `describeAgent` refuses that with a sentence. */
  get task(): string {
    return typeof this.input.task === 'string' ? this.input.task : '';
  }

  /** The agent that has the conversation. */
  get agent(): string {
    return this.state.agent ?? this.input.agent;
  }

  get id(): string {
    return workflowInfo().workflowId;
  }

  /** Where the idempotency keys of its calls begin. */
  get keyPrefix(): string {
    return this.idWithin === undefined ? this.id : `${this.id}/${this.idWithin}`;
  }

  /** The same over its executions and resets, and another for a later run of the same id. */
  get chain(): string {
    return workflowInfo().firstExecutionRunId;
  }

  get spec(): AgentSpec {
    if (this.pinned === null) throw new Error('The spec was asked for before describeAgent had answered.');
    return this.pinned;
  }

  get specIfKnown(): AgentSpec | null {
    return this.pinned;
  }

  pin(spec: AgentSpec): void {
    this.pinned = spec;
  }

  /** The next lap asks for the agent's newest spec. */
  unpin(): void {
    this.pinned = null;
  }

  get model(): string {
    const { modelIndex } = this.state;
    return (modelIndex === 0 ? undefined : this.spec.fallbackModels[modelIndex - 1]) ?? this.spec.model.name;
  }

  get mode(): Mode {
    return this.state.mode ?? this.pinned?.mode ?? 'ask';
  }

  /** Present where the run stays open for more messages. */
  get session(): SessionSpec | undefined {
    return this.pinned?.session;
  }

  /** What the run has used, and may use for the message that it answers. */
  get budget(): Used {
    const { turns, graceTurns, toolCalls, usage, costUsd, startedAt } = this.state;
    return { turns, graceTurns, toolCalls, usage, costUsd, startedAt, limits: limitsInForce(this.state, this.session) };
  }

  get deadline(): number | undefined {
    return deadlineOf(this.budget);
  }

  /**
   * Not by the clock: after a local activity it may say something else when it is replayed than it said before. By the
   * deadline's own timer, and, for an execution that begins late, by the time at which it began.
   */
  get isPastDeadline(): boolean {
    const { deadline } = this;
    return deadline !== undefined && (deadline <= this.bornAt || deadline === this.passed);
  }

  /** Adds to the conversation; workers learn of it with the next call's delta. */
  say(...messages: readonly Message[]): void {
    this.state.conversation.messages.push(...messages);
  }

  enter(phase: Phase): void {
    this.phase = phase;
    this.showProgress();
  }

  showProgress(): void {
    setCurrentDetails(describeProgress(this));
  }

  note(problem: string): void {
    this.state.lastError = cutText(problem, 2000);
    log.warn(this.state.lastError);
  }

  /**
   * Does activity work in a scope that ends with the run's cancellation or at its deadline, whichever comes first.
   * Both reject with a cancellation; {@link isPastDeadline} tells them apart.
   */
  async within<T>(work: () => Promise<T>): Promise<T> {
    if (this.isPastDeadline) throw new DeadlinePassed();
    try {
      return await CancellationScope.cancellable(() => {
        this.work = CancellationScope.current();
        return work();
      });
    } catch (error) {
      if (isCancellation(error) && !CancellationScope.current().consideredCancelled) {
        throw new DeadlinePassed();
      }
      throw error;
    } finally {
      this.work = null;
    }
  }

  /**
   * Asks a model, whose retries may wait for minutes: a force-finish puts an end to that. undefined where it did, and the
   * activity, cancelled for it, has ended without a value; how soon that is, is for its `cancellationType` to say. A cancel
   * of the scope around it, the run's own or the deadline's, is not waited out: this rejects at once.
   */
  async unlessFinished<T>(activity: () => Promise<T>): Promise<T | undefined> {
    if (this.state.forceFinish !== null) return undefined;
    const outer = CancellationScope.current();
    const asked = new CancellationScope();
    this.asked = asked;
    try {
      return await Promise.race([asked.run(activity), outer.cancelRequested]);
    } catch (error) {
      if (isCancellation(error) && !outer.consideredCancelled) return undefined;
      throw error;
    } finally {
      this.asked = null;
    }
  }

  /** The first word counts. */
  finish(how: ForceFinish): void {
    this.state.forceFinish ??= how;
    this.asked?.cancel();
    this.showProgress();
  }

  /** The deadline has come: cancels what {@link within} is doing. */
  passDeadline(deadline: number): void {
    this.passed = deadline;
    this.work?.cancel();
  }
}

/**
 * When the run was due to begin: a worker that comes late does not move the deadline, a start delay or a cron schedule
 * does. The SDK names the server's delay of the first task after cron, but gives it for every kind.
 */
function startOfRun(): number {
  const { startTime, cronScheduleToScheduleInterval } = workflowInfo();
  return Math.min(Date.now(), startTime.getTime() + (cronScheduleToScheduleInterval ?? 0));
}

/** Thrown out of {@link Run.within} at the deadline; the loop turns it into the ending. */
export class DeadlinePassed extends Error {
  override readonly name = 'DeadlinePassed';
}
