/**
 * The workflow `agentRun`: the message API, then the loop. This file is the policy of a run; how each step is done is in
 * the module of its name. It knows no provider and no tool.
 */
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { allHandlersFinished, CancellationScope, condition, upsertMemo } from '@temporalio/workflow';
import type { AgentResult, Ending } from '../agents/result.js';
import type { AgentRunInput } from '../agents/run-input.js';
import { RESULT_MEMO } from '../agents/wire.js';
import { callsOf, openCalls } from '../conversation/conversation.js';
import type { ToolMessage } from '../conversation/message.js';
import { giveAnswer } from './answers.js';
import { askModel, type TurnAnswer } from './ask-model.js';
import { begin } from './begin.js';
import { compactIfLong } from './compaction.js';
import { continueIfDue } from './continue-as-new.js';
import { watchDeadline } from './deadline.js';
import { endingOf, isEnding, lastAnswer, resultOf, summarise } from './ending.js';
import { takeOver } from './hand-over.js';
import { endLap } from './laps.js';
import { exhaustedLimit } from './limits.js';
import { listen } from './listen.js';
import { endMessage, nextMessage } from './next-message.js';
import { askForOutputAgain, givenText, isAnswer, type Given } from './output.js';
import { showInSearch } from './presentation.js';
import { drainSteering } from './queues.js';
import { reportLast, reportToParent } from './report-to-parent.js';
import { Run } from './run.js';
import { closeCalls, runTools } from './run-tools.js';
import { safePoint, takeForceFinish } from './safe-point.js';
import { judge, STUCK_WARNING, turnSignature } from './stuck.js';
import { beginWithin } from './within.js';

/** A workflow can be started without any input; `describeAgent` says what is missing. */
const NO_INPUT: AgentRunInput = { agent: '', task: '' };

/** One agent run, as a workflow of its own. */
export async function agentRun(input: AgentRunInput | null = null): Promise<AgentResult> {
  const result = await live(new Run(input ?? NO_INPUT, 'own_workflow'));
  if (result.status === 'failed') {
    const message = result.error ?? result.reason;
    throw ApplicationFailure.create({ type: result.reason, message, nonRetryable: true, details: [result] });
  }
  if (result.status === 'cancelled') {
    upsertMemo({ [RESULT_MEMO]: result });
    throw new CancelledFailure('The run was cancelled.');
  }
  return result;
}

/** What {@link runAgent} runs. `id` tells it apart from others in the same workflow: 1 to 64 letters, digits, "_", ".", "-". */
export type RunAgentInput = Omit<AgentRunInput, 'carried' | 'parent'> & { readonly id?: string };

/**
 * One agent run inside a team's own workflow, which keeps its own name and result. It takes over the signals, updates and
 * queries of a run, and never continues as new: keep it under some 300 turns (fewer with many approvals), or start `agentRun`
 * as a child.
 * A workflow runs one at a time; from the second on, each has an `id`.
 * @returns the result of every ending but cancellation, which rejects as Temporal's own calls do.
 * @throws Error, failing the workflow task, for a second one at once or an `id` that was used.
 */
export async function runAgent({ id, ...input }: RunAgentInput): Promise<AgentResult> {
  const end = beginWithin(id);
  try {
    const result = await live(new Run(input, 'within_workflow', id));
    if (result.status === 'cancelled') throw new CancelledFailure('The run was cancelled.');
    return result;
  } finally {
    end();
  }
}

async function live(run: Run): Promise<AgentResult> {
  listen(run);
  const stopWatching = watchDeadline(run);
  const stopReporting = reportToParent(run);
  const ending = await runToEnd(run);
  stopWatching();
  stopReporting();
  run.ending = ending;
  giveAnswer(run, ending.reason, lastAnswer(run, ending));
  run.leaving = 'end';
  // Updates under way get their answer before the run is closed. Within another workflow the handlers are that one's too,
  // and one of them may be waiting for this very run.
  if (run.place === 'own_workflow') await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
  run.enter('ended');
  showInSearch(run);
  await reportLast(run, ending);
  // Last of all: a steering that comes while the parent is told is still in the result.
  run.result = resultOf(run, ending);
  return run.result;
}

async function runToEnd(run: Run): Promise<Ending> {
  const ending = await laps(run);
  // The end is decided: what comes from here on, while the run sums up too, is refused, not accepted for nothing.
  run.ending = ending;
  // Whatever ended the run between an answer and its tools: no call stays without a result.
  closeCalls(run, openCalls(run.state.conversation.messages));
  if (ending.status !== 'exhausted' || run.specIfKnown?.onLimit !== 'summarize') return ending;
  try {
    return await summarise(run, ending);
  } catch (error) {
    return endingOf(run, error);
  }
}

/** Lap after lap, until one of them ends the run. Without laps, the first is the only one. */
async function laps(run: Run): Promise<Ending> {
  for (;;) {
    let ending: Ending;
    try {
      ending = (await begin(run)) ?? (await converse(run));
    } catch (error) {
      ending = endingOf(run, error);
    }
    try {
      const final = await endLap(run, ending);
      if (final) return final;
    } catch (error) {
      return endingOf(run, error);
    }
  }
}

/** Message after message: the task, then what people say next. */
async function converse(run: Run): Promise<Ending> {
  for (;;) {
    const none = await nextMessage(run);
    if (none) return none;
    let ending: Ending;
    try {
      ending = await loop(run);
    } catch (error) {
      ending = endingOf(run, error);
    }
    const final = await endMessage(run, ending);
    if (final) return final;
  }
}

/** Turn after turn, until the open message is answered. */
async function loop(run: Run): Promise<Ending> {
  for (;;) {
    const stop = (await safePoint(run)) ?? exhaustedLimit(run.budget, run.isPastDeadline);
    if (stop) return stop;
    takeSteering(run);
    run.asking = true;
    await compactIfLong(run);
    const answer = await askModel(run);
    run.asking = false;
    if (isEnding(answer)) return answer;
    const calls = callsOf(answer.message);
    const stopped = await safePoint(run);
    // An answer in hand is not thrown away for a deadline that passed while it was made.
    const isAnswered = calls.every((call) => isAnswer(run, call));
    if (stopped && (stopped.status !== 'exhausted' || !isAnswered)) return stopped;
    const end = calls.length === 0 ? afterAnswer(run, await givenText(run)) : await afterCalls(run, answer);
    if (end) return end;
    await continueIfDue(run);
  }
}

function takeSteering(run: Run): void {
  const steering = drainSteering(run.state);
  if (steering !== null) run.say(steering);
}

/** The turn's text, or one call in it, is the answer, unless it is wrong or somebody has said something meanwhile. */
function afterAnswer(run: Run, { problem, by }: Given): Ending | undefined {
  const { state } = run;
  const forced = takeForceFinish(run);
  if (forced) return forced;
  const limit = exhaustedLimit(run.budget, run.isPastDeadline);
  if (state.steering.length > 0) {
    const grace = limit?.reason === 'max_turns' && state.graceTurns === 0;
    if (grace) state.graceTurns = 1;
    if (grace || limit === undefined) {
      state.transition = 'steering';
      return undefined;
    }
  }
  if (problem !== undefined) return limit ?? askForOutputAgain(run, { problem, by });
  return { status: 'completed', reason: 'answered' };
}

async function afterCalls(run: Run, answer: TurnAnswer): Promise<Ending | undefined> {
  const { state } = run;
  const { results, given } = await runTools(run, answer);
  state.transition = 'tool_results';
  if (endedByTool(run, results)) return { status: 'completed', reason: 'tool_ended' };
  const stop = await safePoint(run);
  if (stop && (stop.status !== 'exhausted' || given === undefined)) return stop;
  if (given) return afterAnswer(run, given);
  takeOver(run);
  const [memory, verdict] = judge(state.stuck, turnSignature(callsOf(answer.message), results), run.spec.stuckWindow);
  state.stuck = memory;
  if (verdict === 'stuck') return { status: 'stopped', reason: 'stuck' };
  if (verdict === 'warn') {
    run.say({ role: 'user', kind: 'notice', text: STUCK_WARNING });
    state.transition = 'stuck_warning';
  }
  return undefined;
}

/** A tool that ends the run has run: its result is the output. */
function endedByTool(run: Run, results: readonly ToolMessage[]): boolean {
  const last = results.find(
    ({ name, isError }) => isError === undefined && run.spec.tools.some((tool) => tool.name === name && tool.ends),
  );
  if (last !== undefined) run.state.lastText = last.text;
  return last !== undefined;
}
