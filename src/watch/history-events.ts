/**
 * From one execution's history to agent events. A pure fold: the same history gives the same events with the same ids,
 * which is what makes every id a place to resume from. Knows nothing of servers and payloads.
 */
import type { AgentResult } from '../agents/result.js';
import { RESULT_MEMO, WORKFLOW_TYPE } from '../agents/wire.js';
import type { AgentEvent, EventBody } from './agent-event.js';
import type { Closed, HistoryContent, HistoryEvent } from './history-event.js';
import { messageEvent } from './message-events.js';
import { resultOf } from './result-of.js';
import { Standing, type Change } from './standing.js';
import { Tally } from './tally.js';
import { TurnEvents } from './turn-events.js';
import * as wire from './wire-shapes.js';

export class HistoryTranslator {
  private told: AgentEvent[] = [];
  private at = { eventId: 0, time: '' };
  /** Of a cancelled run: its workflow returns none. */
  private resultLeft: AgentResult | undefined;
  /** A team's workflow, which runs agents in it and may make anything of their results. */
  private isOwnWorkflow = false;
  /** Names of updates under way, by the event that accepted them. */
  private readonly updates = new Map<number, string>();
  private readonly standing = new Standing();
  private readonly tally = new Tally();
  private readonly turns = new TurnEvents(this.tally, (body) => this.tell(body));

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
    const { lap, turn } = this.turns;
    this.told.push({ id, time, lap, turn, ...body });
  }

  private read(event: HistoryEvent): void {
    switch (event.kind) {
      case 'execution_started':
        return this.executionStarted(event);
      case 'activity_scheduled':
      case 'activity_started':
      case 'activity_completed':
      case 'activity_failed':
        return this.turns.activity(event);
      case 'child_started':
      case 'child_closed':
        return this.turns.child(event);
      case 'local_activity':
      case 'local_activity_failed':
        return this.turns.localActivity(event);
      case 'message': {
        const body = messageEvent(event);
        if (body === undefined) return;
        if (event.via === 'update') this.updates.set(event.eventId, event.name);
        return this.tell(body);
      }
      case 'update_completed':
        return this.stands(this.standing.answered(this.updateEnds(event.acceptedId), event.answer));
      case 'update_refused': {
        const name = this.updateEnds(event.acceptedId);
        return name === undefined ? undefined : this.tell({ type: 'message_ignored', name, problem: event.problem });
      }
      case 'search_attributes':
        return this.stands(this.standing.is(event.fields['EverlapStatus']));
      case 'memo':
        this.resultLeft = wire.parseResult(event.fields[RESULT_MEMO]) ?? this.resultLeft;
        return;
      case 'cancel_requested':
        return this.tell({ type: 'cancel_requested', ...(event.reason !== '' && { reason: event.reason }) });
      case 'continued':
        this.turns.close(wire.RUN_INPUT.safeParse(event.input).data?.carried?.state.conversation.messages);
        return this.tell({ type: 'continued_as_new', ...event.successor });
      case 'closed': {
        this.turns.close();
        return this.ended(event.how);
      }
    }
  }

  private ended(how: Closed): void {
    const { lap } = this.turns;
    if (this.isOwnWorkflow && how.status === 'completed' && wire.parseResult(how.result) === undefined)
      return this.tell({ type: 'ended', result: this.tally.endedWithOwnResult(lap), ownResult: true });
    this.tell({ type: 'ended', result: resultOf(how, this.resultLeft, this.tally, lap) });
  }

  private executionStarted({ workflowType, input }: Extract<HistoryContent, { kind: 'execution_started' }>): void {
    this.isOwnWorkflow = workflowType !== WORKFLOW_TYPE;
    const run = this.isOwnWorkflow ? undefined : wire.RUN_INPUT.safeParse(input).data;
    if (run?.carried !== undefined) return this.turns.carry(run.carried);
    this.tell({ type: 'run_started', agent: run?.agent ?? null, task: run?.task ?? null });
  }

  private updateEnds(acceptedId: number): string | undefined {
    const name = this.updates.get(acceptedId);
    this.updates.delete(acceptedId);
    return name;
  }

  private stands(change: Change | undefined): void {
    if (change === undefined) return;
    if (change !== 'waiting') return this.tell({ type: change });
    const calls = this.turns.waiting();
    this.tell({
      type: 'waiting',
      calls: calls.map(({ id, name, arguments: args }) => ({ callId: id, name, arguments: args })),
    });
  }
}
