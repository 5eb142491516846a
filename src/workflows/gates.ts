/**
 * Whether a call needs a person's approval, as its own tool says on a worker. Where it cannot say, a person decides.
 *
 * An earlier version asked by local activities. Of several that end in one workflow task a replay sees the ends at other
 * moments than the run did, and the clock says something else: while such runs are replayed, nothing may depend on which is
 * first, or on what the time is then.
 */
import { isCancellation, proxyActivities, sleep } from '@temporalio/workflow';
import type { ToolSpec } from '../agents/spec.js';
import { toolActivity, type CheckCallInput, type ToolInput, type ToolOutput } from '../agents/wire.js';
import { readFailure } from './activity-failures.js';
import { inputOf, isGone, MAX_UNREGISTERED, UNREGISTERED_WAIT_MS, type Outcome } from './run-call.js';
import type { Run } from './run.js';
import { areOrdinary, called, local, ordinary, type ShortOptions } from './short-activity.js';
import type { RunnableCall } from './tool-plan.js';

/** `free`: it may run. `ask`: a person has to say so. `result`: it is not to run, and this is what the model reads. */
export type Gate = { readonly kind: 'free' } | { readonly kind: 'ask' } | ({ readonly kind: 'result' } & Outcome);

/** All gates of one answer. Resolves when the last one has answered; rejects, no sooner, with a cancellation. */
export async function askGates(run: Run, calls: readonly RunnableCall[]): Promise<readonly Gate[]> {
  const answers = await Promise.allSettled(calls.map((planned) => gateOf(run, planned)));
  return answers.map((answer) => {
    if (answer.status === 'rejected') throw answer.reason;
    return answer.value;
  });
}

async function gateOf(run: Run, planned: RunnableCall): Promise<Gate> {
  const { tool } = planned;
  if (tool.execution === 'question') return { kind: 'ask' };
  if (tool.approval === 'never' || (tool.approval === 'ask' && run.mode === 'auto')) return { kind: 'free' };
  return askGate(run, tool, inputOf(run, planned, planned.args));
}

/** Are the arguments right, and does this call need an approval? */
export async function askGate(run: Run, tool: ToolSpec, input: ToolInput): Promise<Gate> {
  run.gatesAsked += 1;
  try {
    const output = await askTool(run, tool, input);
    if ('ask' in output) return { kind: output.ask ? 'ask' : 'free' };
    return 'text' in output ? { kind: 'result', ...output } : { kind: 'ask' };
  } catch (error) {
    const failure = isCancellation(error) ? null : readFailure(error);
    if (failure === null) throw error;
    if (failure.kind === 'unregistered') return { kind: 'result', ...isGone(tool) };
    run.note(`Whether ${tool.name} needs an approval could not be told (${failure.message}); a person is asked.`);
    return { kind: 'ask' };
  } finally {
    run.gatesAsked -= 1;
  }
}

function askTool(run: Run, tool: ToolSpec, input: ToolInput): Promise<ToolOutput> {
  const options = {
    startToCloseTimeout: '10 seconds',
    retry: { maximumAttempts: 3 },
    summary: `${tool.name} · approval?`,
  } as const;
  return areOrdinary() ? askAnyWorker(run, tool, input, options) : askOwnWorker(tool.name, input, options);
}

/** A deploy under way is waited out: some workers may not know the tool yet, or not any more. */
async function askAnyWorker(
  run: Run,
  { name, mcp }: ToolSpec,
  input: ToolInput,
  options: ShortOptions,
): Promise<ToolOutput> {
  const question: CheckCallInput = { ...input, tool: name, ...(mcp && { spec: run.spec.hash }) };
  for (let offers = 1; ; offers += 1) {
    try {
      return await ordinary<CheckCallInput, ToolOutput>('checkCall', question, options);
    } catch (error) {
      if (readFailure(error)?.kind !== 'unregistered' || offers >= MAX_UNREGISTERED || isEnding(run)) throw error;
      await sleep(UNREGISTERED_WAIT_MS);
    }
  }
}

/** Nobody wants to know any more. */
function isEnding({ ending, state }: Run): boolean {
  return ending !== null || state.forceFinish !== null;
}

/** As an earlier version did, whose part of an execution is replayed. */
async function askOwnWorker(name: string, input: ToolInput, options: ShortOptions): Promise<ToolOutput> {
  const gate: ToolInput = { ...input, gate: true };
  try {
    return await local<ToolInput, ToolOutput>(toolActivity(name), gate, options);
  } catch (error) {
    if (readFailure(error)?.kind !== 'unregistered') throw error;
    return called(toolActivity(name), gate, proxyActivities(options));
  }
}
