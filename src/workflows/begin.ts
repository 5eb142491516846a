/** The start of a run: its agent's spec, pinned for as long as the run lives (a carried run brings it along). */
import { isCancellation, proxyActivities } from '@temporalio/workflow';
import type { Ending } from '../agents/result.js';
import type { AgentSpec } from '../agents/spec.js';
import { DESCRIBE_FAILURE, type DescribeAgentInput, type DescribeAgentOutput } from '../agents/wire.js';
import { oneLine } from '../conversation/cut-text.js';
import { readFailure } from './activity-failures.js';
import { openingOf } from './laps.js';
import { dropUnkeepable } from './control.js';
import { showInSearch } from './presentation.js';
import type { Run } from './run.js';
import { newConversation } from './run-state.js';
import { shortActivity } from './short-activity.js';

/** Starting MCP servers may take long (a download, for some), and they may be restarting just now. */
const { listMcpTools } = proxyActivities<{ listMcpTools(input: DescribeAgentInput): Promise<AgentSpec> }>({
  startToCloseTimeout: '10 minutes',
  scheduleToCloseTimeout: '20 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { maximumAttempts: 6 },
});

/** An agent's spec, as it is defined now. @param within how to wait for what may take long. */
export async function describe(
  asked: DescribeAgentInput,
  within: <T>(work: () => Promise<T>) => Promise<T> = (work) => work(),
): Promise<AgentSpec> {
  const described = await shortActivity<DescribeAgentInput, DescribeAgentOutput>('describeAgent', asked, {
    startToCloseTimeout: '15 seconds',
    retry: { maximumAttempts: 10 },
    summary: oneLine(`agent ${asked.agent}`, 100),
  });
  return 'mcp' in described ? within(() => listMcpTools(asked)) : described;
}

/** Pins the spec. Returns the ending where the agent is unknown or the input is wrong: no retry helps then. */
export async function begin(run: Run): Promise<Ending | undefined> {
  const { input, state } = run;
  if (run.isUnreadable) {
    run.note('carried is written by continue-as-new only, and this is none of its kind. Leave it out to start a run.');
    return { status: 'failed', reason: DESCRIBE_FAILURE.badRequest };
  }
  if (run.specIfKnown !== null) return undefined;
  try {
    const asked = { agent: run.agent, task: input.task, ...(input.settings && { settings: input.settings }) };
    run.pin(await describe(asked, (work) => run.within(work)));
  } catch (error) {
    const failure = isCancellation(error) ? null : readFailure(error);
    if (failure === null) throw error;
    run.note(failure.message);
    const type = failure.kind === 'threw' ? failure.type : '';
    const known = Object.values(DESCRIBE_FAILURE).find((reason) => reason === type);
    return { status: 'failed', reason: known ?? 'internal' };
  }
  // What `setLimits` said before the spec was there goes before it.
  state.limits = { ...run.spec.limits, ...state.limits };
  if (state.transition === 'started')
    state.conversation = newConversation(openingOf(run.task, run.spec.laps, state.lap));
  dropUnkeepable(run);
  showInSearch(run);
  return undefined;
}
