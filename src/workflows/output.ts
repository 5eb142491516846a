/** Answers in a form: one that does not have it goes back to the model with what is wrong, a bounded number of times. */
import { isCancellation, proxyLocalActivities } from '@temporalio/workflow';
import type { Ending } from '../agents/result.js';
import type { CheckOutputInput, CheckOutputOutput } from '../agents/wire.js';
import { objectIn } from '../conversation/json-answer.js';
import { readFailure } from './activity-failures.js';
import type { Run } from './run.js';

/** Times that one answer is asked for again. */
const MAX_REASKS = 3;

const { checkOutput } = proxyLocalActivities<{ checkOutput(input: CheckOutputInput): Promise<CheckOutputOutput> }>({
  startToCloseTimeout: '10 seconds',
  retry: { maximumAttempts: 3 },
});

/** What is wrong with the newest answer; undefined where nothing is, or the agent may answer as it likes. */
export async function outputProblem(run: Run): Promise<string | undefined> {
  if (run.spec.output === undefined) return undefined;
  const { problem } = await check(run.spec.name, run.state.lastText ?? '');
  if (problem === undefined) run.state.wrongOutputs = 0;
  return problem;
}

/** A schema whose own code throws, or takes too long, finds nothing right: the answer goes back as any wrong one. */
async function check(agent: string, answer: string): Promise<CheckOutputOutput> {
  try {
    return await checkOutput({ agent, answer });
  } catch (error) {
    const failure = isCancellation(error) ? null : readFailure(error);
    if (failure === null) throw error;
    return { problem: `It could not be checked: ${failure.message}` };
  }
}

/** Tells the model, or, after the last time, ends the run. */
export function askForOutputAgain(run: Run, problem: string): Ending | undefined {
  const { state } = run;
  state.wrongOutputs += 1;
  run.note(`The answer does not have the form that the agent's output asks for. ${problem}`);
  if (state.wrongOutputs > MAX_REASKS) return { status: 'failed', reason: 'invalid_output' };
  const text = `Your answer does not have the form that was asked for.\n${problem}\nAnswer again, with one JSON object that fits and nothing else.`;
  run.say({ role: 'user', kind: 'notice', text });
  state.transition = 'wrong_output';
  return undefined;
}

/** An answer in a form as bare JSON, whatever the model wrote around it. */
export function bareOutput(run: Run, answer: string | null): string | null {
  if (run.spec.output === undefined || answer === null) return answer;
  const object = objectIn(answer);
  return object === null ? answer : JSON.stringify(object);
}
