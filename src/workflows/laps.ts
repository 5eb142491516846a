/**
 * Fresh laps: the same task again with an empty conversation, until a promise is kept, a command succeeds, or the laps
 * are used up. Budgets, the deadline, waiting steering and follow-ups belong to the run and go on over laps.
 */
import { proxyActivities } from '@temporalio/workflow';
import type { Ending, FailedReason } from '../agents/result.js';
import type { LapsSpec } from '../agents/spec.js';
import type { VerifyInput, VerifyOutput } from '../agents/wire.js';
import { headAndTail } from '../conversation/cut-text.js';
import type { Message } from '../conversation/message.js';
import { keepsPromise } from '../conversation/promise.js';
import { goOn } from './continue-as-new.js';
import { openMessage } from './open-message.js';
import type { Run } from './run.js';
import { takeForceFinish } from './safe-point.js';
import { newConversation, type RunState } from './run-state.js';

const VERIFY_TIMEOUT_MS = 10 * 60_000;
const VERIFY_ATTEMPTS = 3;
/** Characters of a handoff: what the next lap is told of the last one. */
const MAX_HANDOFF = 20_000;

/** Failures that another lap would meet again at once. */
const FINAL_FAILURES: ReadonlySet<FailedReason> = new Set([
  'auth',
  'quota',
  'bad_request',
  'unknown_agent',
  'internal',
]);

/**
 * What the end of a lap means: the end of the run, or undefined where the next lap has begun in this execution. (A run
 * with a workflow of its own goes on in a new execution instead, and this does not return.)
 */
export async function endLap(run: Run, ending: Ending): Promise<Ending | undefined> {
  const laps = run.specIfKnown?.laps;
  if (laps === undefined || endsTheRun(ending)) return ending;
  const { state } = run;
  const report = await reportOf(run, laps, ending);
  if (typeof report !== 'string') return report;
  // Before the last text is let go: it is the output of a run that is told to finish now.
  const forced = takeForceFinish(run);
  if (forced) return forced;
  if (state.failedLaps >= laps.maxFailed) return ending;
  if (state.lap >= laps.max) return { status: 'exhausted', reason: 'max_laps' };
  nextLap(run, laps, report);
  // After a handoff the newest definition is another agent's, and knows nothing of this run's laps.
  await goOn(run, laps.spec === 'pinned' || state.agent !== null ? run.spec : undefined);
  return undefined;
}

/** What a person did, and what a budget says, is meant for the run and not for one lap of it. */
function endsTheRun(ending: Ending): boolean {
  switch (ending.status) {
    case 'cancelled':
    case 'exhausted':
      return true;
    case 'stopped':
      return ending.reason === 'force_finished';
    case 'failed':
      return FINAL_FAILURES.has(ending.reason);
    default:
      return false;
  }
}

/** The run's ending where the lap reached its aim, else what the next lap should know of this one. */
async function reportOf(run: Run, { until }: LapsSpec, ending: Ending): Promise<Ending | string> {
  const { state } = run;
  if (ending.status !== 'completed') {
    state.failedLaps += 1;
    return `The last lap failed: ${ending.reason}${state.lastError === null ? '' : ` (${state.lastError})`}.`;
  }
  state.failedLaps = 0;
  if ('promise' in until) {
    return keepsPromise(state.lastText ?? '', until.promise) ? { status: 'completed', reason: 'promise_kept' } : '';
  }
  const { exitCode, output } = await verify(run, until.verify);
  if (exitCode === 0) return { status: 'completed', reason: 'verified' };
  return `After the last lap this command was run in the workspace, and it failed with exit code ${exitCode}:\n${until.verify}\n${output}`;
}

async function verify(run: Run, command: string): Promise<VerifyOutput> {
  run.enter('verifying');
  const { verifyWorkspace } = proxyActivities<{ verifyWorkspace(input: VerifyInput): Promise<VerifyOutput> }>({
    startToCloseTimeout: VERIFY_TIMEOUT_MS,
    heartbeatTimeout: run.spec.heartbeatTimeoutMs,
    retry: { maximumAttempts: VERIFY_ATTEMPTS },
    summary: `lap ${run.state.lap} · verify`,
  });
  return run.within(() => verifyWorkspace({ command, call: { runId: run.id, lap: run.state.lap } }));
}

function nextLap(run: Run, laps: LapsSpec, report: string): void {
  const { state } = run;
  const note = laps.handoff === 'note' ? noteOf(state) : '';
  Object.assign(state, {
    lap: state.lap + 1,
    transition: 'next_lap',
    handoff: null,
    lastAnswer: null,
    modelIndex: 0,
    overflowsInARow: 0,
    overflowedAt: null,
  } satisfies Partial<RunState>);
  openMessage(state, null, Date.now());
  state.conversation = newConversation(openingOf(run.task, laps, state.lap, [report, note]));
}

function noteOf({ handoff }: RunState): string {
  return handoff === null ? 'The last lap left no note.' : `Note from the last lap:\n${handoff}`;
}

/** How a lap begins: the task, and what there is to know of laps and of the lap before. */
export function openingOf(
  task: string,
  laps: LapsSpec | undefined,
  lap: number,
  reports: readonly string[] = [],
): Message[] {
  const opening: Message[] = task.trim() === '' ? [] : [{ role: 'user', kind: 'task', text: task }];
  if (laps === undefined) return opening;
  const text = [
    `[LAP ${lap} of at most ${laps.max}] You start with an empty memory. The files in your workspace are as the lap before left them; look at them first.`,
    ...reports.filter((report) => report !== ''),
    ...(laps.handoff === 'note' ? ['Before you end this lap, call hand_off with what the next lap has to know.'] : []),
    'promise' in laps.until
      ? `Only when the whole task is done, end your last answer with this line, alone: ${laps.until.promise}`
      : 'When you have answered, your work is checked.',
  ].join('\n\n');
  return [...opening, { role: 'user', kind: 'handoff', text: headAndTail(text, MAX_HANDOFF) }];
}
