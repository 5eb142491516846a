/**
 * From one execution's history to agent events. A pure fold: the same history gives the same events with the same ids,
 * which is what makes every id a place to resume from. Knows nothing of servers and payloads.
 */
import { RESULT_MEMO, TOOL_FAILURE, WORKFLOW_TYPE } from '../agents/wire.js';
import type { AgentResult } from '../agents/result.js';
import { isJsonObject } from '../conversation/json.js';
import type { FailedActivity } from '../workflows/activity-failures.js';
import type { AgentEvent, EventBody, ModelRetrying } from './agent-event.js';
import type { HistoryContent, HistoryEvent } from './history-event.js';
import { messageEvent } from './message-events.js';
import { NewMessages } from './new-messages.js';
import { resultOf } from './result-of.js';
import { Tally } from './tally.js';
import { argumentsOf, TurnCalls, type Outcome, type Settled } from './turn-calls.js';
import * as wire from './wire-shapes.js';

type Of<Kind extends HistoryContent['kind']> = Extract<HistoryContent, { kind: Kind }>;

type Scheduled =
  | { readonly work: 'model'; readonly model: string; readonly toolsOff: boolean; attempts?: number }
  | { readonly work: 'tool'; readonly callId: string; attempts?: number }
  | { readonly work: 'compaction'; readonly model: string; attempts?: number };

/** The words that the run itself puts before a tool's failure. */
const errorText = (failure: FailedActivity): Outcome => ({ text: `Error: ${failure.message}`, isError: true });

export class HistoryTranslator {
  private told: AgentEvent[] = [];
  private at = { eventId: 0, time: '' };
  private lap = 1;
  private turn = 0;
  /** 0: `lap_started` and `turn_started` are still to come for the first. */
  private lapTold = 0;
  private turnTold = 0;
  /** What the last model call of this turn came to; why there is another one. */
  private lastCall: ModelRetrying['cause'] = 'failure';
  private standing: 'running' | 'paused' | 'waiting' = 'running';
  private result: AgentResult | undefined;
  /** Tools that run as local activities; other tools are only asked there whether a call needs an approval. */
  private localTools: ReadonlySet<string> = new Set();
  private askingTools: ReadonlySet<string> = new Set();
  private readonly scheduled = new Map<number, Scheduled>();
  /** Names of accepted updates, by the event that accepted them. */
  private readonly updates = new Map<number, string>();
  private readonly messages = new NewMessages<wire.SeenMessage>();
  private readonly calls = new TurnCalls();
  private readonly tally = new Tally();

  constructor(private readonly runId: string) {}

  /** The agent events of the next history event; often none. */
  translate(event: HistoryEvent): AgentEvent[] {
    this.at = event;
    this.told = [];
    this.read(event);
    return this.told;
  }

  private tell(body: EventBody): void {
    const { eventId, time } = this.at;
    const id = `${this.runId}:${eventId}:${this.told.length}`;
    this.told.push({ id, time, lap: this.lap, turn: this.turn, ...body });
  }

  private read(event: HistoryEvent): void {
    switch (event.kind) {
      case 'execution_started':
        return this.executionStarted(event);
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
      case 'local_activity':
        return this.localActivity(event, wire.TOOL_OUTPUT.safeParse(event.result).data);
      case 'local_activity_failed':
        return this.localActivity(event, errorText(event.failure));
      case 'message':
        if (event.via === 'update') this.updates.set(event.eventId, event.name);
        return this.tellIf(messageEvent(event));
      case 'update_completed':
        return this.updateCompleted(event);
      case 'memo':
        this.result = wire.parseResult(event.fields[RESULT_MEMO]) ?? this.result;
        return;
      case 'search_attributes':
        return this.stands(event.fields['EverlapStatus']);
      case 'cancel_requested':
        return this.tell({ type: 'cancel_requested', ...(event.reason !== '' && { reason: event.reason }) });
      case 'continued': {
        const carried = wire.RUN_INPUT.safeParse(event.input).data?.carried;
        if (carried) this.hear(this.messages.take(0, carried.state.conversation.messages));
        this.closeCalls();
        return this.tell({ type: 'continued_as_new', ...event.successor });
      }
      case 'closed': {
        this.closeCalls();
        return this.tell({ type: 'ended', result: resultOf(event.how, this.result, this.tally, this.lap) });
      }
    }
  }

  private tellIf(body: EventBody | undefined): void {
    if (body !== undefined) this.tell(body);
  }

  private executionStarted({ workflowType, input }: Of<'execution_started'>): void {
    const run = workflowType === WORKFLOW_TYPE ? wire.RUN_INPUT.safeParse(input).data : undefined;
    if (run?.carried === undefined) {
      return this.tell({ type: 'run_started', agent: run?.agent ?? null, task: run?.task ?? null });
    }
    const { state, spec } = run.carried;
    this.lap = state.lap;
    this.turn = state.turns;
    this.lapTold = state.transition === 'next_lap' ? state.lap - 1 : state.lap;
    this.turnTold = state.turns;
    this.tally.carry(state);
    if (spec) this.pin(spec);
    this.messages.reset(state.conversation.messages);
  }

  private activityScheduled(event: Of<'activity_scheduled'> & HistoryEvent): void {
    if (event.activity === 'callModel') return this.modelScheduled(event);
    if (event.activity === 'compactConversation') return this.compactionScheduled(event);
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
    const { model, base, delta } = call;
    const toolsOff = call.tools === 'none';
    this.scheduled.set(eventId, { work: 'model', model, toolsOff });
    const news = this.messages.take(base.length, delta);
    // Results belong to the turn that asked for them, all else to the turn that it enters.
    this.hear(news.filter(({ role }) => role === 'tool'));
    this.lap = call.lap;
    this.turn = call.turn;
    if (this.lap > this.lapTold) this.tell({ type: 'lap_started' });
    this.lapTold = this.lap;
    if (this.turn > this.turnTold)
      this.tell({ type: 'turn_started', model, activityId, ...(toolsOff && { toolsOff }) });
    else this.tell({ type: 'model_retrying', model, activityId, cause: this.lastCall });
    this.turnTold = this.turn;
    this.lastCall = 'failure';
    this.hear(news.filter(({ role }) => role !== 'tool'));
  }

  private compactionScheduled({ eventId, activityId, input }: Of<'activity_scheduled'> & HistoryEvent): void {
    const compaction = wire.COMPACT_INPUT.safeParse(input).data;
    if (compaction === undefined) return;
    const { base, delta, model, lap, turn } = compaction;
    this.scheduled.set(eventId, { work: 'compaction', model });
    const news = this.messages.take(base.length, delta);
    this.hear(news.filter(({ role }) => role === 'tool'));
    this.lap = lap;
    this.turn = turn;
    this.hear(news.filter(({ role }) => role !== 'tool'));
    this.tell({ type: 'compaction_started', activityId });
  }

  private activityCompleted({ scheduledId, result }: Of<'activity_completed'>): void {
    const scheduled = this.scheduled.get(scheduledId);
    if (scheduled?.work === 'model') return this.answered(scheduled, result);
    if (scheduled?.work === 'compaction') return this.compacted(scheduled.model, result);
    if (scheduled?.work !== 'tool') return;
    // Without a text it answered that a lost call was not made: the run makes it again.
    const output = wire.TOOL_OUTPUT.safeParse(result).data;
    if (output !== undefined) this.settle(this.calls.finish(scheduled.callId, output), scheduled.attempts);
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
    const scheduled = this.scheduled.get(scheduledId);
    if (scheduled === undefined) return;
    const attempts = scheduled.attempts === undefined ? {} : { attempts: scheduled.attempts };
    if (scheduled.work === 'model') {
      const reason = failure.kind === 'threw' ? failure.type : failure.kind;
      this.tell({ type: 'model_failed', model: scheduled.model, reason, error: failure.message, ...attempts });
    } else if (scheduled.work === 'compaction') {
      this.messages.replaced();
      this.tell({ type: 'compaction_done', problem: failure.message });
    } else if (failure.kind === 'threw' && failure.type === TOOL_FAILURE.error) {
      this.settle(this.calls.finish(scheduled.callId, errorText(failure)), scheduled.attempts);
    } else {
      this.calls.hold(scheduled.callId, errorText(failure));
    }
  }

  private localActivity(event: Of<'local_activity' | 'local_activity_failed'>, outcome: Outcome | undefined): void {
    if (event.activity === 'describeAgent') {
      const spec = event.kind === 'local_activity' ? wire.SPEC.safeParse(event.result).data : undefined;
      if (spec !== undefined) this.pin(spec);
      return;
    }
    const name = event.activity.slice('tool.'.length);
    if (!this.localTools.has(name) || outcome === undefined) return;
    this.tally.toolCall();
    this.settle(this.calls.local(name, event.seq, outcome));
  }

  private pin({ prices, tools }: wire.SeenSpec): void {
    this.tally.pin(prices);
    const names = (found: wire.SeenSpec['tools']): Set<string> => new Set(found.map(({ name }) => name));
    this.localTools = names(tools.filter(({ execution }) => execution === 'local'));
    this.askingTools = names(
      tools.filter(({ execution, approval }) => execution === 'question' || approval !== 'never'),
    );
  }

  private updateCompleted({ acceptedId, answer }: Of<'update_completed'>): void {
    const name = this.updates.get(acceptedId);
    this.updates.delete(acceptedId);
    if ((name === 'pause' || name === 'resume') && isJsonObject(answer)) this.stands(answer['status']);
  }

  /** What the run itself says of how it stands, in whichever way it says so first. */
  private stands(status: unknown): void {
    if (status === this.standing || (status !== 'paused' && status !== 'waiting' && status !== 'running')) return;
    this.standing = status;
    if (status !== 'waiting') return this.tell({ type: status === 'running' ? 'resumed' : status });
    const calls = this.calls.unstarted(this.askingTools);
    this.tell({
      type: 'waiting',
      calls: calls.map((call) => ({ callId: call.id, name: call.name, arguments: call.arguments })),
    });
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
