/**
 * Child runs that are open, as their parent sees them: what they may spend, and which of their calls wait for a person.
 * Pure. Children live within one turn: a run continues as new between turns, so none of this is ever carried over.
 */
import type { Usage } from '../conversation/message.js';
import { isJsonObject } from '../conversation/json.js';
import type { Budget } from './child-budget.js';

/** A call that waits for a person in a child, or further below. */
export interface CallBelow {
  /** The run that waits. */
  readonly run: string;
  readonly kind: 'approval' | 'question';
  readonly callId: string;
  readonly tool: string;
  /** JSON, cut. */
  readonly args: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly expiresAt?: number;
}

/** What a child tells its parent: whenever what waits in it has changed, and when it ends without an answer. */
export interface ChildReport {
  readonly runId: string;
  readonly pending: readonly CallBelow[];
  /** `pending` has the oldest only. */
  readonly pendingCount: number;
  readonly last?: LastReport;
}

/** A cancelled workflow returns nothing, and an exhausted run makes no answer up: this is what they had. */
export interface LastReport {
  readonly usage: Usage;
  readonly costUsd: number | null;
  readonly text: string | null;
}

export interface OpenChild {
  readonly runId: string;
  readonly reserved: Budget;
  pending: readonly CallBelow[];
  pendingCount: number;
  last: LastReport | null;
  /** Calls whose decision is on its way down: nobody may decide them again, though the child reports them still. */
  readonly decided: Set<string>;
}

export type Children = ReadonlyMap<string, OpenChild>;

export function newChild(runId: string, reserved: Budget): OpenChild {
  return { runId, reserved, pending: [], pendingCount: 0, last: null, decided: new Set() };
}

/** What came as a report, if it is one; null else. Anybody can send a signal, and a child may be of another version. */
export function parseReport(value: unknown): ChildReport | null {
  if (!isJsonObject(value)) return null;
  const { runId, pending, pendingCount, last } = value;
  if (typeof runId !== 'string' || typeof pendingCount !== 'number') return null;
  if (!Array.isArray(pending) || !pending.every(isCallBelow)) return null;
  if (last !== undefined && !isLastReport(last)) return null;
  return { runId, pending, pendingCount, ...(last && { last }) };
}

function isCallBelow(value: unknown): value is CallBelow {
  if (!isJsonObject(value)) return false;
  const { run, kind, callId, tool, args, since, expiresAt } = value;
  return (
    (kind === 'approval' || kind === 'question') &&
    [run, callId, tool, args].every((text) => typeof text === 'string') &&
    typeof since === 'number' &&
    (expiresAt === undefined || typeof expiresAt === 'number')
  );
}

function isLastReport(value: unknown): value is LastReport {
  if (!isJsonObject(value) || !isJsonObject(value['usage'])) return false;
  const { usage, costUsd, text } = value;
  return (
    Object.values(usage).every((tokens) => ['number', 'boolean'].includes(typeof tokens)) &&
    typeof usage['input'] === 'number' &&
    typeof usage['output'] === 'number' &&
    (costUsd === null || typeof costUsd === 'number') &&
    (text === null || typeof text === 'string')
  );
}

/** False for a child that is not open (any more). */
export function takeReport(children: Children, report: ChildReport): boolean {
  const child = children.get(report.runId);
  if (child === undefined) return false;
  child.pending = report.pending;
  child.pendingCount = report.pendingCount;
  child.last = report.last ?? child.last;
  const reported = new Set(report.pending.map(keyOf));
  for (const key of child.decided) if (!reported.has(key)) child.decided.delete(key);
  return true;
}

/** Calls below that a person can decide. */
export function openCallsBelow(children: Children): readonly CallBelow[] {
  return [...children.values()].flatMap(({ pending, decided }) => pending.filter((call) => !decided.has(keyOf(call))));
}

export function countBelow(children: Children): number {
  return [...children.values()].reduce((sum, { pendingCount, decided }) => sum + pendingCount - decided.size, 0);
}

/** The child by which a call below was reported. */
export function reporterOf(children: Children, call: CallBelow): OpenChild | undefined {
  return [...children.values()].find(({ pending }) => pending.includes(call));
}

/** Ids of calls come again over turns; the time tells them apart. */
export function keyOf({ run, callId, since }: CallBelow): string {
  return `${since} ${callId} ${run}`;
}
