/**
 * One turn's answer, whole: a cut text is continued and joined, an empty answer is asked for once more. Puts exactly one
 * assistant message into the conversation, however many calls it took.
 */
import type { Ending } from '../agents/result.js';
import { callsOf, isEmptyAnswer } from '../conversation/conversation.js';
import type { AssistantMessage, Usage, UserMessage } from '../conversation/message.js';
import { cutToJsonBytes, escapedBytes } from '../conversation/json-bytes.js';
import { callModel, type Answered } from './call-model.js';
import { saidBy } from './output.js';
import type { Run } from './run.js';
import type { Conversation } from './run-state.js';
import { forgetHead } from './sendable.js';

/** Times that a text cut off by the output limit is asked to go on. */
const MAX_CONTINUATIONS = 3;
/** Bytes of a joined text as JSON: as much as one answer may have. */
const MAX_JOINED_BYTES = 1_000_000;

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
  run.state.overflowsInARow = 0;
  const said = saidBy(run, whole.message);
  if (said.trim() !== '') run.state.lastText = said;
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
    run.state.conversation.headTokens = tokensKept(first.output.usage);
    return answer;
  }
  for (let times = 0; isCutText(answer) && times < MAX_CONTINUATIONS && !isFull(answer); times += 1) {
    run.state.transition = 'answer_cut';
    const more = await continued(run, answer.message);
    if ('status' in more) {
      run.say(answer.message);
      return more;
    }
    answer = join(answer.message, turnAnswer(more));
  }
  if (isCutText(answer))
    run.note('The answer was cut off by the length limit again and again; the text so far is taken.');
  run.say(answer.message);
  return answer;
}

/**
 * The part so far is in the conversation only while the model is asked to go on. The head stays before it, so that the
 * joined text can take its place.
 */
async function continued(run: Run, part: AssistantMessage): Promise<Answered | Ending> {
  run.say(part, CUT_NOTICE);
  try {
    const more = await callModel(run);
    retract(run.state.conversation, 'part and notice');
    return more;
  } catch (error) {
    // What was said stays said, whatever ends the run now.
    retract(run.state.conversation, 'notice');
    throw error;
  }
}

/** One message of two: what a provider wants back is that of the newest part. */
function join(before: AssistantMessage, { message, cut }: TurnAnswer): TurnAnswer {
  const text = cutToJsonBytes(before.text + message.text, MAX_JOINED_BYTES);
  const reasoning = message.reasoning ?? before.reasoning;
  return { cut, message: { ...message, text, ...(reasoning !== undefined && { reasoning }) } };
}

function isFull({ message }: TurnAnswer): boolean {
  return escapedBytes(message.text) >= MAX_JOINED_BYTES;
}

/** Tokens of a request that goes on from here: reasoning is not sent back, or is small beside what it took. */
function tokensKept({ input, output, reasoning = 0 }: Usage): number {
  return input + Math.max(0, output - reasoning);
}

function turnAnswer({ output }: Answered): TurnAnswer {
  return { message: output.message, cut: output.finish === 'length' };
}

function isCutText({ message, cut }: TurnAnswer): boolean {
  return cut && callsOf(message).length === 0;
}

/**
 * Takes the notice back, or the part before it too. By place, since a compaction may have moved and shortened them; it
 * parts them never. A head that covered them is no use any more: the next call sends everything.
 */
function retract(conversation: Conversation, what: 'notice' | 'part and notice'): void {
  const at = conversation.messages.lastIndexOf(CUT_NOTICE);
  if (at < 0) return;
  const from = what === 'notice' ? at : at - 1;
  conversation.messages.splice(from, at + 1 - from);
  if (from < conversation.head.length) forgetHead(conversation);
}

function notice(text: string): UserMessage {
  return { role: 'user', kind: 'notice', text };
}
