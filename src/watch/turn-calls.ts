/**
 * The tool calls of one answer while they wait for their results. A result is told once, as soon as history is sure of
 * it: an activity's completion is; a failure may still be asked about, and a local activity's marker does not say which
 * of several calls of one tool it belongs to. Those are held until the conversation tells, or the run ends. Pure.
 */
import { isJsonObject, type JsonObject } from '../conversation/json.js';

export interface Outcome {
  readonly text: string;
  readonly isError?: true;
}

export interface OpenCall {
  readonly id: string;
  readonly name: string;
  /** As the model wrote them. */
  readonly arguments: string;
}

interface State {
  readonly call: OpenCall;
  started: boolean;
  /** What will be the result unless the run finds out better. */
  held?: Outcome;
}

interface LocalOutcome {
  readonly name: string;
  readonly seq: number;
  readonly outcome: Outcome;
}

/** A result to be told. `startedNow`: nothing was told of the call before, but it was run. */
export interface Settled {
  readonly call: OpenCall;
  readonly outcome: Outcome;
  readonly startedNow: boolean;
}

export class TurnCalls {
  private open = new Map<string, State>();
  private locals: LocalOutcome[] = [];

  /** A new answer: whatever was open of the last one is forgotten. */
  answered(calls: readonly OpenCall[]): void {
    this.open = new Map(calls.map((call) => [call.id, { call, started: false }]));
    this.locals = [];
  }

  /** Whether this is the call's first start. */
  start(callId: string): boolean {
    const state = this.open.get(callId);
    if (state === undefined || state.started) return false;
    state.started = true;
    return true;
  }

  /** The call, unless it has its result. */
  find(callId: string): OpenCall | undefined {
    return this.open.get(callId)?.call;
  }

  /** The result is sure. undefined where it was told already. */
  finish(callId: string, outcome: Outcome): Settled | undefined {
    const state = this.open.get(callId);
    if (state === undefined) return undefined;
    this.open.delete(callId);
    return { call: state.call, outcome, startedNow: !state.started && this.takeLocal(state.call.name, outcome) };
  }

  /** Calls of these tools that have neither begun nor ended. */
  unstarted(names: ReadonlySet<string>): OpenCall[] {
    return [...this.open.values()].flatMap(({ call, started }) => (!started && names.has(call.name) ? [call] : []));
  }

  hold(callId: string, outcome: Outcome): void {
    const state = this.open.get(callId);
    if (state !== undefined) state.held = outcome;
  }

  /** A local activity has ended. Told at once where only one call can have been meant. */
  local(name: string, seq: number, outcome: Outcome): Settled | undefined {
    this.locals.push({ name, seq, outcome });
    const [one, another] = this.waitingFor(name);
    return one !== undefined && another === undefined ? this.finish(one.call.id, outcome) : undefined;
  }

  /** What was held: no conversation will tell it any more. */
  rest(): Settled[] {
    const held = [...this.open.values()].flatMap(({ call, held }) =>
      held === undefined ? [] : [{ id: call.id, outcome: held }],
    );
    // Local activities are numbered as they were scheduled: in call order.
    const locals = [...this.locals].sort((a, b) => a.seq - b.seq);
    const taken = new Set<string>();
    for (const { name, outcome } of locals) {
      const state = this.waitingFor(name).find(({ call }) => !taken.has(call.id));
      if (state === undefined) continue;
      taken.add(state.call.id);
      held.push({ id: state.call.id, outcome });
    }
    return held.flatMap(({ id, outcome }) => this.finish(id, outcome) ?? []);
  }

  private waitingFor(name: string): State[] {
    return [...this.open.values()].filter(({ call, started }) => call.name === name && !started);
  }

  /** Whether a local activity with this outcome had ended; it is used up. */
  private takeLocal(name: string, outcome: Outcome): boolean {
    const index = this.locals.findIndex((local) => local.name === name && local.outcome.text === outcome.text);
    if (index >= 0) this.locals.splice(index, 1);
    return index >= 0;
  }
}

/** Of a call that was run: the run had an object of them. */
export function argumentsOf(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    // No text at all is a call without arguments.
    return {};
  }
}
