/** Going on in a new execution of the same run, before this one's history grows too long. */
import { allHandlersFinished, condition, makeContinueAsNewFunc, workflowInfo } from '@temporalio/workflow';
import type { AgentSpec } from '../agents/spec.js';
import type { AgentRunInput } from '../agents/run-input.js';
import { jsonBytes } from '../conversation/json-bytes.js';
import { keptAnswers } from './answers.js';
import { carriedOf } from './carried.js';
import { compactForPayload } from './compaction.js';
import { parentKnows } from './report-to-parent.js';
import type { Run } from './run.js';

/** The server takes 10,000 signals for one execution. */
const MAX_MESSAGES_RECEIVED = 8000;
/** Bytes that the input of the next execution may have: a payload may have 2 MB. */
const MAX_INPUT_BYTES = 1_500_000;
/** Over this the command would fail its workflow task for ever: the run ends with a sentence instead. */
const MOST_INPUT_BYTES = 1_950_000;

/** Called between turns only: no call is open then. Does not return where the run goes on in a new execution. */
export async function continueIfDue(run: Run): Promise<void> {
  if (run.place === 'within_workflow') return;
  const { targetWorkerDeploymentVersionChanged } = workflowInfo();
  // A newer version of the workers is there. To move to it is worth no compaction: then it waits for the next one that is due.
  const mayUpgrade = targetWorkerDeploymentVersionChanged && canCarry(run, run.spec, MAX_INPUT_BYTES);
  if (mustContinue(run) || mayUpgrade) await goOn(run, run.spec);
}

/** This execution's history is long enough. */
export function mustContinue(run: Run): boolean {
  if (run.place === 'within_workflow') return false;
  return workflowInfo().continueAsNewSuggested || run.messagesReceived >= MAX_MESSAGES_RECEIVED;
}

/**
 * Goes on in a new execution, with this spec or, without one, with the agent's newest. Returns where that has to wait: the
 * run is to pause or to end first, or it lives within another workflow, whose executions are not Everlap's.
 */
export async function goOn(run: Run, spec: AgentSpec | undefined): Promise<void> {
  const own = run.place === 'own_workflow';
  if (own && !canCarry(run, spec, MAX_INPUT_BYTES)) await compactForPayload(run);
  if (!own || run.state.forceFinish !== null) {
    if (spec === undefined) run.unpin();
    return;
  }
  if (!canCarry(run, spec, MOST_INPUT_BYTES)) {
    throw new Error(
      'what it has to carry into its next execution is over the 2 MB that a payload may have, compacted as well; ' +
        'set up external storage (externalStorage), or give it a shorter task.',
    );
  }
  // Who waits for the answer to a message is told to ask again.
  run.leaving = 'next_execution';
  // A pause asked for during that compaction is answered at a safe point only, and the loop has the next one.
  const mayLeave = (): boolean => allHandlersFinished() && parentKnows(run);
  await condition(() => mayLeave() || run.state.paused);
  if (!mayLeave()) {
    run.leaving = null;
    if (spec === undefined) run.unpin();
    return;
  }
  // From here to the command there is no await: what came before is in the state, what comes later makes the server
  // refuse the command and hand it to this execution first.
  await inNewExecution(inputOf(run, spec));
}

/**
 * With worker versioning, a pinned run moves here to the version that is current now: its state is all that the new code
 * has to understand, not its history. Without versioning, or with a version that people have set for this run, nothing changes.
 */
function inNewExecution(input: AgentRunInput): Promise<never> {
  return makeContinueAsNewFunc<(input: AgentRunInput) => Promise<unknown>>({
    initialVersioningBehavior: 'AUTO_UPGRADE',
  })(input);
}

function canCarry(run: Run, spec: AgentSpec | undefined, mostBytes: number): boolean {
  return run.spec.storesLargePayloads || jsonBytes(inputOf(run, spec)) <= mostBytes;
}

function inputOf({ input: { agent, task, settings, parent }, state }: Run, spec: AgentSpec | undefined): AgentRunInput {
  return {
    agent,
    task,
    ...(settings && { settings }),
    ...(parent && { parent }),
    // Whoever waits for one has it, or is told to ask again, before the next execution begins.
    carried: carriedOf({ ...state, answers: keptAnswers(state.answers) }, spec, task),
  };
}
