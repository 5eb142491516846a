/**
 * One turn's answer, whole: a cut text is continued and joined, an empty answer is asked for once more. Puts exactly one
 * assistant message into the conversation, however many calls it took.
 */
import type { Ending } from '../agents/result.js';
import { callsOf, isEmptyAnswer } from '../conversation/conversation.js';
import { EMPTY_HEAD, type AssistantMessage, type UserMessage } from '../conversation/message.js';
import { callModel, type Answered } from './call-model.js';
import type { Run } from './run.js';
import type { Conversation } from './run-state.js';

/** Times that a text cut off by the output limit is asked to go on. */
const MAX_CONTINUATIONS = 3;

const EMPTY_NOTICE = notice('Your last answer was empty. Answer the task in words, or call a tool.');
const CUT_NOTICE = notice(
  'Your answer was cut off by the length limit. Go on exactly where it stopped; repeat nothing.',
);

export interface TurnAnswer {
  readonly message: AssistantMessage;
  /** The output limit cut the answer off: its last call may be half a call. */
  readonly cut: boolean;
}

/** Asks for one turn's answer and counts the turn. */
export async function askModel(run: Run): Promise<TurnAnswer | Ending> {
  const first = await notEmpty(run);
  if ('status' in first) return first;
  const whole = await joined(run, first);
  if ('status' in whole) return whole;
  run.state.turns += 1;
  run.state.compactionsInARow = 0;
  if (whole.message.text.trim() !== '') run.state.lastText = whole.message.text;
  return whole;
}

async function notEmpty(run: Run): Promise<Answered | Ending> {
  const first = await callModel(run);
  if ('status' in first || !isEmptyAnswer(first.output.message)) return first;
  run.state.transition = 'empty_answer';
  run.say(EMPTY_NOTICE);
  const second = await callModel(run);
  if ('status' in second || !isEmptyAnswer(second.output.message)) return second;
  run.note(`${second.model} answered with nothing, twice.`);
  return { status: 'failed', reason: 'empty_answer' };
}

/** Goes on with a text that the output limit cut off, until it ends or was continued often enough. */
async function joined(run: Run, first: Answered): Promise<TurnAnswer | Ending> {
  let answer = turnAnswer(first);
  if (!isCutText(answer)) {
    run.say(answer.message);
    const { messages } = run.state.conversation;
    run.state.conversation.head = { hash: first.output.head, length: messages.length };
    run.state.conversation.headTokens = first.output.usage.input + first.output.usage.output;
    return answer;
  }
  // The parts are in the conversation only while the model is asked to go on. The head stays before them, so that the
  // joined text can take their place.
  for (let times = 0; isCutText(answer) && times < MAX_CONTINUATIONS; times += 1) {
    run.state.transition = 'answer_cut';
    run.say(answer.message, CUT_NOTICE);
    const more = await callModel(run);
    retract(run.state.conversation, 2);
    if ('status' in more) {
      run.say(answer.message);
      return more;
    }
    const next = turnAnswer(more);
    answer = { ...next, message: { ...next.message, text: answer.message.text + next.message.text } };
  }
  if (isCutText(answer))
    run.note(`The answer was cut off by the length limit ${MAX_CONTINUATIONS + 1} times; the text so far is taken.`);
  run.say(answer.message);
  return answer;
}

function turnAnswer({ output }: Answered): TurnAnswer {
  return { message: output.message, cut: output.finish === 'length' };
}

function isCutText({ message, cut }: TurnAnswer): boolean {
  return cut && callsOf(message).length === 0;
}

/** Takes the last messages back. A head that covered them is no use any more: the next call sends everything. */
function retract(conversation: Conversation, count: number): void {
  conversation.messages.splice(-count);
  if (conversation.head.length <= conversation.messages.length) return;
  conversation.head = EMPTY_HEAD;
  conversation.headTokens = null;
}

function notice(text: string): UserMessage {
  return { role: 'user', kind: 'notice', text };
}
