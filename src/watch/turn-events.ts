/**
 * What an execution's activities say: turns, tool calls, compactions, and what the conversation got in between. A part of
 * the pure fold of `history-events.ts`, which gives the events their ids.
 */
import { TOOL_FAILURE } from '../agents/wire.js';
import type { FailedActivity } from '../workflows/activity-failures.js';
import { outcomeOfChild } from '../workflows/child-result.js';
import type { EventBody, ModelRetrying } from './agent-event.js';
import type { HistoryContent, HistoryEvent } from './history-event.js';
import { NewMessages } from './new-messages.js';
import type { Tally } from './tally.js';
import { argumentsOf, TurnCalls, type OpenCall, type Outcome, type Settled } from './turn-calls.js';
import * as wire from './wire-shapes.js';

type Of<Kind extends HistoryContent['kind']> = Extract<HistoryContent, { kind: Kind }>;

type Scheduled =
  | { readonly work: 'model'; readonly model: string; readonly toolsOff: boolean; attempts?: number }
  | { readonly work: 'tool'; readonly callId: string; attempts?: number }
  | { readonly work: 'compaction'; readonly model: string; attempts?: number }
  | { readonly work: 'verify'; attempts?: number }
  | { readonly work: 'describe'; attempts?: number };

/** The words that the run itself puts before a tool's failure. */
const errorText = (failure: FailedActivity): Outcome => ({ text: `Error: ${failure.message}`, isError: true });

export class TurnEvents {
  lap = 1;
  turn = 0;
  /** 0: `lap_started` and `turn_started` are still to come for the first. */
  private lapTold = 0;
  private turnTold = 0;
  /** What the last model call of this turn came to; why there is another one. */
  private lastCall: ModelRetrying['cause'] = 'failure';
  /** Tools that run as local activities; others an earlier version asked there whether a call needs an approval. */
  private localTools: ReadonlySet<string> = new Set();
  private askingTools: ReadonlySet<string> = new Set();
  /** An agent was looked up since the last model call: for a run that begins, or a handoff. */
  private lookedUp = false;
  private readonly scheduled = new Map<number, Scheduled>();
  /** Calls of agents, by the event that started their runs. */
  private readonly children = new Map<number, { readonly callId: string; readonly agent: string }>();
  private maxResultChars = Infinity;
  private readonly messages = new NewMessages<wire.SeenMessage>();
  private readonly calls = new TurnCalls();

  constructor(
    private readonly tally: Tally,
    private readonly tell: (body: EventBody) => void,
  ) {}

  /** The execution goes on where another stopped. */
  carry({ state, spec }: wire.Carried): void {
    this.lap = state.lap;
    this.turn = state.turns;
    this.lapTold = state.transition === 'next_lap' ? state.lap - 1 : state.lap;
    this.turnTold = state.turns;
    this.tally.carry(state);
    if (spec) this.pin(spec);
    this.messages.reset(state.conversation.messages);
  }

  /** The execution ends: nothing that is open will be told any more. Another one goes on with `messages`. */
  close(messages?: readonly wire.SeenMessage[]): void {
    if (messages !== undefined) this.hear(this.messages.take(0, messages));
    this.closeCalls();
  }

  /** Calls that a person may have to decide on. */
  waiting(): readonly OpenCall[] {
    return this.calls.unstarted(this.askingTools);
  }

  activity(event: Of<`activity_${'scheduled' | 'started' | 'completed' | 'failed'}`> & HistoryEvent): void {
    switch (event.kind) {
      case 'activity_scheduled':
        return this.activityScheduled(event);
      case 'activity_started': {
        const scheduled = this.scheduled.get(event.scheduledId);
        if (scheduled !== undefined && event.attempt > 1) scheduled.attempts = event.attempt;
        return;
      }
      case 'activity_completed':
        return this.activityCompleted(event);
      case 'activity_failed':
        return this.activityFailed(event);
    }
  }

  private activityScheduled(event: Of<'activity_scheduled'> & HistoryEvent): void {
    if (event.activity === 'callModel') return this.modelScheduled(event);
    if (event.activity === 'compactConversation') return this.compactionScheduled(event);
    if (event.activity === 'verifyWorkspace') return this.verifyScheduled(event);
    if (event.activity === 'describeAgent') this.lookedUp = true;
    if (event.activity === 'describeAgent' || event.activity === 'listMcpTools') {
      this.scheduled.set(event.eventId, { work: 'describe' });
      return;
    }
    const input = wire.TOOL_INPUT.safeParse(event.input).data;
    if (input === undefined) return;
    const { callId } = input.call;
    this.scheduled.set(event.eventId, { work: 'tool', callId });
    if (!this.calls.start(callId)) return;
    this.tally.toolCall();
    const name = event.activity.slice('tool.'.length);
    this.tell({ type: 'tool_started', callId, name, args: input.args, activityId: event.activityId });
  }

  private modelScheduled({ eventId, activityId, input }: Of<'activity_scheduled'> & HistoryEvent): void {
    const call = wire.MODEL_INPUT.safeParse(input).data;
    if (call === undefined) return;
    const { model } = call;
    const toolsOff = call.tools === 'none';
    this.scheduled.set(eventId, { work: 'model', model, toolsOff });
    const news = this.enterTurn(call);
    if (this.lap > this.lapTold) this.tell({ type: 'lap_started' });
    this.lapTold = this.lap;
    if (this.turn > this.turnTold)
      this.tell({ type: 'turn_started', model, activityId, ...(toolsOff && { toolsOff }) });
    else this.tell({ type: 'model_retrying', model, activityId, cause: this.lastCall });
    this.turnTold = this.turn;
    this.lastCall = 'failure';
    this.hear(news);
  }

  private compactionScheduled({ eventId, activityId, input }: Of<'activity_scheduled'> & HistoryEvent): void {
    const compaction = wire.COMPACT_INPUT.safeParse(input).data;
    if (compaction === undefined) return;
    this.scheduled.set(eventId, { work: 'compaction', model: compaction.model });
    this.hear(this.enterTurn(compaction));
    this.tell({ type: 'compaction_started', activityId });
  }

  private verifyScheduled({ eventId, activityId, input }: Of<'activity_scheduled'> & HistoryEvent): void {
    const verify = wire.VERIFY_INPUT.safeParse(input).data;
    if (verify === undefined) return;
    this.scheduled.set(eventId, { work: 'verify' });
    this.tell({ type: 'verify_started', command: verify.command, activityId });
  }

  /** Tells the results of the turn before; returns the other new messages, which belong to the turn that they enter. */
  private enterTurn({ lap, turn, base, delta }: wire.SeenTurn): readonly wire.SeenMessage[] {
    // After a handoff comes a new turn: turns count over all of a run.
    if (this.lookedUp && turn <= this.turnTold) this.nextRun();
    this.lookedUp = false;
    if (lap > this.lap) this.messages.reset([]);
    const news = this.messages.take(base.length, delta);
    this.hear(news.filter(({ role }) => role === 'tool'));
    // Results that are too long to travel with the call are told as history has them.
    this.closeCalls();
    this.lap = lap;
    this.turn = turn;
    return news.filter(({ role }) => role !== 'tool');
  }

  /** A team's own workflow runs another agent. */
  private nextRun(): void {
    this.tally.nextRun(this.lap);
    this.messages.reset([]);
    this.lapTold = 0;
    this.turnTold = 0;
  }

  private activityCompleted({ scheduledId, result }: Of<'activity_completed'>): void {
    const scheduled = this.take(scheduledId);
    if (scheduled?.work === 'model') return this.answered(scheduled, result);
    if (scheduled?.work === 'compaction') return this.compacted(scheduled.model, result);
    if (scheduled?.work === 'verify') {
      const output = wire.VERIFY_OUTPUT.safeParse(result).data;
      return output && this.tell({ type: 'verify_finished', ...output });
    }
    if (scheduled?.work === 'describe') {
      const spec = wire.SPEC.safeParse(result).data;
      return spec && this.pin(spec);
    }
    if (scheduled?.work !== 'tool') return;
    // Without a text it answered that a lost call was not made: the run makes it again.
    const output = wire.TOOL_OUTPUT.safeParse(result).data;
    if (output !== undefined) this.settle(this.calls.finish(scheduled.callId, output), scheduled.attempts);
  }

  private take(scheduledId: number): Scheduled | undefined {
    const scheduled = this.scheduled.get(scheduledId);
    this.scheduled.delete(scheduledId);
    return scheduled;
  }

  private answered({ model, toolsOff, attempts }: Extract<Scheduled, { work: 'model' }>, result: unknown): void {
    const output = wire.MODEL_OUTPUT.safeParse(result).data;
    if (output === undefined) return;
    const { message, usage } = output;
    const { text, toolCalls, reasoning } = message;
    this.tally.use(model, usage);
    const isEmpty = text.trim() === '' && toolCalls.length === 0;
    const isCut = output.finish === 'length' && toolCalls.length === 0;
    this.lastCall = isEmpty ? 'empty_answer' : isCut ? 'answer_cut' : 'failure';
    if (!isEmpty && !toolsOff) this.tally.turn(this.turn);
    this.calls.answered(toolCalls);
    this.tell({
      type: 'model_answered',
      model: message.model ?? model,
      text,
      toolCalls,
      ...(reasoning !== undefined && { reasoning }),
      usage,
      ...(output.finish === 'length' && { cut: true }),
      ...(attempts !== undefined && { attempts }),
    });
  }

  private compacted(model: string, result: unknown): void {
    const output = wire.COMPACT_OUTPUT.safeParse(result).data;
    this.messages.replaced();
    if (output?.usage) this.tally.use(model, output.usage);
    const { plan, problem } = output ?? {};
    this.tell({
      type: 'compaction_done',
      ...(plan?.summary !== undefined && { summary: plan.summary }),
      ...(problem !== undefined && { problem }),
    });
  }

  private activityFailed({ scheduledId, failure }: Of<'activity_failed'>): void {
    const scheduled = this.take(scheduledId);
    if (scheduled === undefined || scheduled.work === 'describe') return;
    const attempts = scheduled.attempts === undefined ? {} : { attempts: scheduled.attempts };
    if (scheduled.work === 'model') {
      const reason = failure.kind === 'threw' ? failure.type : failure.kind;
      this.tell({ type: 'model_failed', model: scheduled.model, reason, error: failure.message, ...attempts });
    } else if (scheduled.work === 'compaction') {
      this.messages.replaced();
      this.tell({ type: 'compaction_done', problem: failure.message });
    } else if (scheduled.work === 'verify') {
      this.tell({ type: 'verify_finished', exitCode: null, output: failure.message });
    } else if (failure.kind === 'threw' && failure.type === TOOL_FAILURE.error) {
      this.settle(this.calls.finish(scheduled.callId, errorText(failure)), scheduled.attempts);
    } else {
      this.calls.hold(scheduled.callId, errorText(failure));
    }
  }

  /** A child run is its tool call: its answer is the result. Of other ends only the conversation has the words. */
  child(event: Of<'child_started' | 'child_closed'> & HistoryEvent): void {
    if (event.kind === 'child_closed') {
      const call = this.children.get(event.startedId);
      const result = wire.parseResult(event.result);
      if (call === undefined || result === undefined) return;
      const outcome = outcomeOfChild(call.agent, { result, lastText: null }, this.maxResultChars);
      if (result.status === 'completed') this.settle(this.calls.finish(call.callId, outcome));
      else this.calls.hold(call.callId, outcome);
      return;
    }
    const input = wire.CHILD_INPUT.safeParse(event.input).data;
    if (input === undefined) return;
    const { callId } = input.parent;
    this.children.set(event.eventId, { callId, agent: input.agent });
    const call = this.calls.find(callId);
    if (call === undefined || !this.calls.start(callId)) return;
    this.tally.toolCall();
    this.tell({ type: 'tool_started', callId, name: call.name, args: argumentsOf(call.arguments), runId: event.runId });
  }

  localActivity(event: Of<'local_activity' | 'local_activity_failed'>): void {
    if (event.activity === 'describeAgent') {
      this.lookedUp = true;
      const spec = event.kind === 'local_activity' ? wire.SPEC.safeParse(event.result).data : undefined;
      if (spec !== undefined) this.pin(spec);
      return;
    }
    const name = event.activity.slice('tool.'.length);
    const outcome =
      event.kind === 'local_activity' ? wire.TOOL_OUTPUT.safeParse(event.result).data : errorText(event.failure);
    if (!this.localTools.has(name) || outcome === undefined) return;
    this.tally.toolCall();
    this.settle(this.calls.local(name, event.seq, outcome));
  }

  private pin({ prices, tools, toolResult }: wire.SeenSpec): void {
    this.maxResultChars = toolResult?.maxChars ?? Infinity;
    this.tally.pin(prices);
    const names = (found: wire.SeenSpec['tools']): Set<string> => new Set(found.map(({ name }) => name));
    this.localTools = names(tools.filter(({ execution }) => execution === 'local'));
    this.askingTools = names(
      tools.filter(({ execution, approval }) => execution === 'question' || approval !== 'never'),
    );
  }

  /** Messages that the conversation got since the last model call. */
  private hear(messages: readonly wire.SeenMessage[]): void {
    for (const { role, kind, text, callId, isError } of messages) {
      if (role === 'tool' && callId !== undefined) {
        this.settle(this.calls.finish(callId, { text, ...(isError && { isError }) }));
      } else if (kind === 'steering') this.tell({ type: 'steering_taken', text });
      else if (kind === 'follow_up') this.tell({ type: 'follow_up_taken', text });
      else if (kind === 'notice') this.tell({ type: 'notice', text });
    }
  }

  private settle(settled: Settled | undefined, attempts?: number): void {
    if (settled === undefined) return;
    const { call, outcome, startedNow } = settled;
    const { id: callId, name } = call;
    if (startedNow) this.tell({ type: 'tool_started', callId, name, args: argumentsOf(call.arguments) });
    this.tell({ type: 'tool_finished', callId, name, ...outcome, ...(attempts !== undefined && { attempts }) });
  }

  private closeCalls(): void {
    for (const settled of this.calls.rest()) this.settle(settled);
  }
}
