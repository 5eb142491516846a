/**
 * Handoff: another agent goes on with the conversation, within the run. It brings instructions, tools and model; limits,
 * counters, laps, the session, the form of the answer and what people have said stay the run's.
 */
import { isCancellation } from '@temporalio/workflow';
import { limitOptions } from '../agents/limits.js';
import { stricter } from '../agents/mode.js';
import { sessionOptions } from '../agents/session.js';
import type { ToolSpec } from '../agents/spec.js';
import { oneLine } from '../conversation/cut-text.js';
import { readFailure } from './activity-failures.js';
import { describe } from './begin.js';
import { showInSearch } from './presentation.js';
import { failed, type Outcome } from './run-call.js';
import type { Run } from './run.js';

/** The call: finds out the other agent's spec. Of several calls in one answer the first counts. */
export async function handOver(run: Run, { name, agent }: ToolSpec): Promise<Outcome> {
  if (agent === undefined) return failed(`Error: ${name} names no agent.`);
  if (run.successor !== null) {
    return failed(`Not done: the conversation goes over to ${run.successor.agent} already.`);
  }
  const successor: NonNullable<Run['successor']> = { agent: agent.name, spec: null };
  run.successor = successor;
  try {
    const limits = limitOptions(run.state.limits);
    const { laps = null, session, output } = run.spec;
    const settings = { ...run.input.settings, limits, laps, session: session ? sessionOptions(session) : null };
    const form = output?.agent;
    // Of the task it is only asked that there is one; all of it would be in history once more.
    successor.spec = await describe({
      agent: agent.name,
      task: oneLine(run.task, 100),
      settings,
      ...(form && { form }),
    });
    return { text: `The conversation goes over to ${agent.name}.` };
  } catch (error) {
    run.successor = null;
    const failure = isCancellation(error) ? null : readFailure(error);
    if (failure === null) throw error;
    return failed(`Error: the conversation stays with you: ${failure.message}`);
  }
}

/** After the turn: the tools of its other calls are looked up until then. */
export function takeOver(run: Run): void {
  const { state, successor } = run;
  run.successor = null;
  if (successor === null || successor.spec === null) return;
  // What may run without asking does not become more by that, unless a person has said so.
  state.mode ??= stricter(run.mode, successor.spec.mode);
  run.pin(successor.spec);
  state.agent = successor.agent;
  state.modelIndex = 0;
  state.overflowedAt = null;
  // What the provider counted had other instructions and tools in it.
  state.conversation.headTokens = null;
  state.transition = 'handoff';
  run.showProgress();
  showInSearch(run);
}
