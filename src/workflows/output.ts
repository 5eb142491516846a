/**
 * Answers in a form: one that does not have it goes back to the model with what is wrong, a bounded number of times. An
 * answer comes as a text, or, where the server has no means to hold a text to a form, as a call of `final_answer`.
 */
import { isCancellation } from '@temporalio/workflow';
import type { Ending } from '../agents/result.js';
import type { CheckOutputInput, CheckOutputOutput } from '../agents/wire.js';
import { callsOf } from '../conversation/conversation.js';
import { FINAL_ANSWER_NAME, objectIn } from '../conversation/json-answer.js';
import type { AssistantMessage, ToolCall } from '../conversation/message.js';
import { readFailure } from './activity-failures.js';
import { failed, type Outcome } from './run-call.js';
import type { TurnAnswer } from './ask-model.js';
import type { Run } from './run.js';
import { shortActivity } from './short-activity.js';

/** Times that one answer is asked for again. */
const MAX_REASKS = 3;

/** An answer that ends the run, unless it is wrong or somebody has said something meanwhile. */
export interface Given {
  /** What is wrong with it. */
  readonly problem?: string;
  /** By a call the problem is its result; a text needs a message of its own. */
  readonly by: 'text' | 'call';
}

/** A call that is the answer itself: nothing runs for it. */
interface AnswerCall {
  readonly call: ToolCall;
  readonly index: number;
  /** The output limit cut it off. */
  readonly cut: boolean;
}

export function isAnswer({ spec }: Run, { name }: ToolCall): boolean {
  return spec.output !== undefined && name === FINAL_ANSWER_NAME;
}

export function answersIn(run: Run, { message, cut }: TurnAnswer): AnswerCall[] {
  return callsOf(message)
    .map((call, index, all) => ({ call, index, cut: cut && index === all.length - 1 }))
    .filter(({ call }) => isAnswer(run, call));
}

/** The newest text as the answer. */
export async function givenText(run: Run): Promise<Given> {
  return { by: 'text', ...(await check(run, run.state.lastText ?? '')) };
}

/**
 * The calls that give the answer, once all other calls are done: the first that is right counts. undefined where none does,
 * since another agent goes on.
 */
export async function takeAnswers(
  run: Run,
  calls: readonly AnswerCall[],
  outcomes: Outcome[],
): Promise<Given | undefined> {
  let given: Given | undefined;
  for (const { index, call, cut } of calls) {
    if (run.successor !== null) {
      outcomes[index] = failed(`Not taken: the conversation goes over to ${run.successor.agent}.`);
    } else if (given !== undefined && given.problem === undefined) {
      outcomes[index] = failed('Not taken: the final answer was given already.');
    } else {
      given = { by: 'call', ...(cut ? { problem: CUT } : await check(run, textOf(call))) };
      if (given.problem === undefined) run.state.lastText = textOf(call);
      outcomes[index] =
        given.problem === undefined ? TAKEN : failed(`Error: your answer was not taken.\n${given.problem}\n${AGAIN}`);
    }
  }
  return given;
}

const TAKEN: Outcome = { text: 'Taken as the final answer.' };
const AGAIN = `Call ${FINAL_ANSWER_NAME} again, with arguments that fit.`;
const CUT = 'It was cut off by the output length limit: make it shorter.';

/** What an answer says: its text, or the form that it gives by a call. */
export function saidBy(run: Run, message: AssistantMessage): string {
  const call = callsOf(message).find((one) => isAnswer(run, one));
  return call === undefined ? message.text : textOf(call);
}

/** A call without arguments is the empty form. */
function textOf({ arguments: json }: ToolCall): string {
  return json.trim() === '' ? '{}' : json;
}

/** A schema whose own code throws, or takes too long, finds nothing right: the answer goes back as any wrong one. */
async function check({ spec, state }: Run, answer: string): Promise<CheckOutputOutput> {
  if (spec.output === undefined) return {};
  try {
    const checked = await shortActivity<CheckOutputInput, CheckOutputOutput>(
      'checkOutput',
      { agent: spec.output.agent, answer },
      { startToCloseTimeout: '10 seconds', retry: { maximumAttempts: 3 }, summary: 'form of the answer' },
    );
    if (checked.problem === undefined) state.wrongOutputs = 0;
    return checked;
  } catch (error) {
    const failure = isCancellation(error) ? null : readFailure(error);
    if (failure === null) throw error;
    return { problem: `It could not be checked: ${failure.message}` };
  }
}

/** Tells the model, or, after the last time, ends the run. */
export function askForOutputAgain(run: Run, { problem, by }: Given & { readonly problem: string }): Ending | undefined {
  const { state } = run;
  state.wrongOutputs += 1;
  run.note(`The answer does not have the form that the agent's output asks for. ${problem}`);
  if (state.wrongOutputs > MAX_REASKS) return { status: 'failed', reason: 'invalid_output' };
  state.transition = 'wrong_output';
  if (by === 'call') return undefined;
  const text = `Your answer does not have the form that was asked for.\n${problem}\n${REPEAT}${formInWords(run)}`;
  run.say({ role: 'user', kind: 'notice', text });
  return undefined;
}

const REPEAT = 'Give the whole answer again in that form, as one JSON object and nothing else.';
/** Longer schemas are not told twice. */
const MAX_SCHEMA_CHARS = 10_000;

/** Said once: some servers drop the field or the tool by which the form is asked for, and say nothing. */
function formInWords({ spec, state }: Run): string {
  const schema = JSON.stringify(spec.output?.schema ?? {});
  if (state.wrongOutputs > 1 || schema.length > MAX_SCHEMA_CHARS) return '';
  return ` It has to fit this JSON Schema:\n${schema}`;
}

/** An answer in a form as bare JSON, whatever the model wrote around it. */
export function bareOutput(run: Run, answer: string | null): string | null {
  if (run.spec.output === undefined || answer === null) return answer;
  const object = objectIn(answer);
  return object === null ? answer : JSON.stringify(object);
}
