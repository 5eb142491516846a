/**
 * The tool calls of one answer. Whatever happens to a call, it ends as exactly one result in the conversation, in call
 * order, directly after the answer: also when the run is cancelled or its deadline comes in the middle.
 */
import { CancellationScope, condition } from '@temporalio/workflow';
import { callsOf, toolResult } from '../conversation/conversation.js';
import { cut, headAndTail } from '../conversation/cut-text.js';
import { isSame, type JsonObject } from '../conversation/json.js';
import type { ToolCall, ToolMessage } from '../conversation/message.js';
import { escapedBytes } from '../conversation/json-bytes.js';
import { decide, mayWait, USED_UP } from './approvals.js';
import type { TurnAnswer } from './ask-model.js';
import { askGates } from './gates.js';
import { handOver } from './hand-over.js';
import { InTurn } from './in-turn.js';
import { answersIn, isAnswer, takeAnswers, type Given } from './output.js';
import { runChild } from './run-child.js';
import { failed, inputOf, runCall, type Outcome } from './run-call.js';
import { DeadlinePassed, type Run } from './run.js';
import type { RunState } from './run-state.js';
import { safePoint } from './safe-point.js';
import { areOrdinary } from './short-activity.js';
import { concurrencyOf, forbids, PLAN_MODE, planCalls, type PlannedCall, type RunnableCall } from './tool-plan.js';

/** Bytes, as JSON, of all results of one turn together: they travel in one payload with the next model call. */
const MAX_TURN_BYTES = 800_000;

const MAX_NOTE_CHARS = 10_000;
/** Characters of changed arguments that the model is told. */
const MAX_ARGS = 2000;

export interface TurnResults {
  /** In call order, as they are in the conversation. */
  readonly results: readonly ToolMessage[];
  /** Present where one of the calls was the answer itself. */
  readonly given?: Given;
}

/** Runs the calls of an answer and puts their results into the conversation. */
export async function runTools(run: Run, answer: TurnAnswer): Promise<TurnResults> {
  const calls = callsOf(answer.message);
  const outcomes: Outcome[] = [];
  const changes: string[] = [];
  const answers = answersIn(run, answer);
  const plan = planCalls(run.spec.tools, calls, answer.cut, run.mode).filter(({ call }) => !isAnswer(run, call));
  let given: Given | undefined;
  try {
    if (plan.length > 0) await runPlan(run, plan, outcomes, changes);
    if (answers.length > 0 && mayAnswer(run, plan)) given = await takeAnswers(run, answers, outcomes);
  } finally {
    closeCalls(run, calls, outcomes);
  }
  const results = run.state.conversation.messages.slice(-calls.length).filter((message) => message.role === 'tool');
  tellChanges(run, changes);
  return { results, ...(given && { given }) };
}

/** An answer in hand is not thrown away for a deadline, unless that has stopped what the answer builds on. */
function mayAnswer(run: Run, plan: readonly PlannedCall[]): boolean {
  return run.state.forceFinish === null && (plan.length === 0 || !run.isPastDeadline);
}

/**
 * Calls that wait for a person hold up nobody; those that need nobody, and those that were approved, run with what runs
 * already, unless they or it are serial.
 */
async function runPlan(run: Run, plan: readonly PlannedCall[], outcomes: Outcome[], changes: string[]): Promise<void> {
  const waiting = plan.filter(isRunnable).filter(({ tool }) => mayWait(tool));
  const free = plan.filter((planned) => !waiting.some(({ index }) => index === planned.index));
  run.agentCallsToCome = plan.filter(isRunnable).filter(({ tool }) => tool.execution === 'agent').length;
  run.callsToCome = free.filter(isRunnable).length;
  run.enter('tools');
  const inTurn = new InTurn();
  const start = (planned: PlannedCall): Promise<void> =>
    inTurn.start(concurrencyOf(planned), () => runOne(run, planned, outcomes));
  try {
    await run.within(() => {
      const askedAt = Date.now();
      const atOnce = free.map(start);
      const gates = askGates(run, waiting);
      const decided = waiting.map(async (planned, at) => {
        const gate = (await gates)[at] ?? { kind: 'ask' };
        const verdict = await decide(run, planned, gate, askedAt);
        if (verdict.kind === 'result') outcomes[planned.index] = verdict;
        if (verdict.kind !== 'run') return;
        const { args, byPerson } = verdict;
        if (!isSame(args, planned.args)) changes.push(changeOf(planned, args));
        await start({ ...planned, args, ...(byPerson && { byPerson }) });
      });
      return allOf([...atOnce, ...decided]);
    });
  } catch (error) {
    if (!(error instanceof DeadlinePassed)) throw error;
  }
}

/** Gives each call its result: its outcome, or a sentence on why it has none. */
export function closeCalls(
  run: Run,
  calls: readonly ToolCall[],
  outcomes: readonly (Outcome | undefined)[] = [],
): void {
  const all = calls.map((_, index) => outcomes[index] ?? notRun(run));
  const total = all.reduce((sum, { text }) => sum + escapedBytes(text), 0);
  const room = total > MAX_TURN_BYTES ? Math.floor(MAX_TURN_BYTES / calls.length) : Infinity;
  run.say(
    ...calls.map((call, index) => {
      const { text, isError } = all[index] ?? notRun(run);
      return toolResult(call, withinBytes(text, room), isError === true);
    }),
  );
}

/** The model knows the arguments that it gave only, and would take the results for theirs. */
function tellChanges(run: Run, changes: readonly string[]): void {
  // An execution that an earlier version has made is replayed with the messages that it had.
  if (changes.length > 0 && areOrdinary()) {
    run.say({ role: 'user', kind: 'notice', text: `${CHANGED}\n${changes.join('\n')}` });
  }
}

const CHANGED = 'A person has approved calls with other arguments than you gave. With these:';

function changeOf({ call }: RunnableCall, args: JsonObject): string {
  return `${call.name} (call ${cut(call.id, 100)}): ${headAndTail(JSON.stringify(args), MAX_ARGS)}`;
}

/** Head and tail of a text, by about so many bytes of JSON. */
function withinBytes(text: string, room: number): string {
  const bytes = escapedBytes(text);
  return bytes <= room ? text : headAndTail(text, Math.floor((text.length * room) / bytes));
}

function notRun(run: Run): Outcome {
  if (run.state.forceFinish !== null) return failed('Not run: the run was told to finish.');
  if (run.ending !== null && run.ending.status !== 'cancelled') {
    return failed(`Not run: the run has ended (${run.ending.reason}).`);
  }
  if (run.isPastDeadline) return failed('Stopped or not run: the deadline has passed.');
  return failed('Stopped or not run: the run was cancelled.');
}

/** Not run where the run has to end first. A pause is one only when nothing runs any more. */
async function runOne(run: Run, planned: PlannedCall, outcomes: Outcome[]): Promise<void> {
  if (run.state.paused && run.callsUnderWay > 0) {
    await condition(() => !run.state.paused || run.callsUnderWay === 0 || run.state.forceFinish !== null);
  }
  if ((await safePoint(run)) !== undefined) return;
  run.callsUnderWay += 1;
  try {
    outcomes[planned.index] = planned.kind === 'refuse' ? failed(planned.text) : await counted(run, planned);
  } finally {
    run.callsUnderWay -= 1;
  }
}

/**
 * Waits for all, also where one fails: then the others are cancelled first. A run that ended with a local activity under
 * way would fail its workflow task for ever.
 */
async function allOf(work: readonly Promise<void>[]): Promise<void> {
  const scope = CancellationScope.current();
  try {
    await Promise.all(work);
  } catch (error) {
    scope.cancel();
    await Promise.allSettled(work);
    throw error;
  }
}

function isRunnable(planned: PlannedCall): planned is RunnableCall {
  return planned.kind === 'run';
}

async function counted(run: Run, planned: RunnableCall): Promise<Outcome> {
  const { state } = run;
  run.callsToCome -= 1;
  if (state.toolCalls >= (run.budget.limits.toolCalls ?? Infinity)) return failed(USED_UP);
  // The mode may have changed since the answer came.
  if (forbids(run.mode, planned.tool) && !planned.byPerson) return failed(PLAN_MODE);
  state.toolCalls += 1;
  if (planned.tool.execution === 'note') return keepNote(state, planned);
  const input = inputOf(run, planned, planned.args);
  if (planned.tool.execution === 'handoff') return handOver(run, planned.tool);
  if (planned.tool.execution === 'agent') return runChild(run, planned, input.call);
  return runCall(run, planned.tool, input);
}

function keepNote(state: RunState, { args }: RunnableCall): Outcome {
  if (typeof args.note !== 'string' || args.note.trim() === '')
    return failed('Error: give the note as a text, in "note".');
  state.handoff = headAndTail(args.note, MAX_NOTE_CHARS);
  return { text: 'Noted for the next lap.' };
}
