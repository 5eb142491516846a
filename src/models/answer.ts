/** Whether what was read is an answer, and if not, what failed. Pure. */
import { cut } from '../conversation/cut-text.js';
import type { AssistantMessage } from '../conversation/message.js';
import { causesOf } from './causes.js';
import { readErrorBody } from './error-words.js';
import { type Failure, type FailureContext, failureOf, failureOfError } from './failure-class.js';
import type { ModelAnswer } from './provider.js';
import type { Reply } from './read-reply.js';
import type { Assembled } from './stream-assembly.js';

/** Finish reasons, in lower case, that mean something else than a proper end. */
const LENGTH: ReadonlySet<string> = new Set(['length', 'max_tokens', 'max_output_tokens', 'model_length']);
const FILTERED: ReadonlySet<string> = new Set([
  'content_filter',
  'content_filtered',
  'safety',
  'recitation',
  'prohibited_content',
  'blocklist',
  'spii',
  'sensitive',
]);
const BROKEN: ReadonlySet<string> = new Set([
  'error',
  'abort',
  'aborted',
  'cancelled',
  'network_error',
  'insufficient_system_resource', // DeepSeek
  'malformed_function_call', // Gemini: the next try usually does
]);

export function answerOf(reply: Reply, context: FailureContext): ModelAnswer | Failure {
  const { assembled } = reply;
  const reason = assembled.finishReason?.toLowerCase() ?? '';
  const isLength = assembled.isCut || LENGTH.has(reason);
  if (assembled.error !== null) {
    const failure = failureOfError(assembled.error, context);
    // OpenRouter tells the used-up output budget a second time, as a 400.
    const isSameAgain = failure.failureClass === 'bad_request' || failure.failureClass === 'overflow';
    return isLength && isSameAgain ? answer(assembled, 'length') : failure;
  }
  if (assembled.isCut) return answer(assembled, 'length');
  if (!assembled.hasChoice) return noCompletion(reply, context);
  if (FILTERED.has(reason)) {
    const happened = `stopped its answer at its content filter (finish reason "${assembled.finishReason}").`;
    return failureOf('content_filter', happened, context);
  }
  if (BROKEN.has(reason)) {
    return failureOf('transient', `ended its answer with the finish reason "${assembled.finishReason}".`, context);
  }
  if (!assembled.isWhole)
    return failureOf('transient', `broke off in the middle of its answer${because(reply)}.`, context);
  return answer(assembled, isLength ? 'length' : 'end');
}

function answer(assembled: Assembled, finish: 'end' | 'length'): ModelAnswer {
  const { text, reasoning, toolCalls, extra, usage } = assembled;
  const message: AssistantMessage = {
    role: 'assistant',
    text,
    ...(toolCalls.length > 0 && { toolCalls }),
    ...(reasoning !== '' && { reasoning }),
    ...(Object.keys(extra).length > 0 && { extra }),
  };
  return { message, usage, finish };
}

function noCompletion(reply: Reply, context: FailureContext): Failure {
  const beginning = cut(readErrorBody(reply.excerpt).text, 500);
  const what = {
    empty: `answered 200 with an empty body${because(reply)}.`,
    html: `answered 200 with ${beginning}: is the base URL right?`,
    json: `answered 200 with JSON that is no completion${because(reply)}: ${beginning}`,
    text: `answered 200 with a text that is no completion${because(reply)}: ${beginning}`,
    events: `answered 200 with a stream without a single choice${because(reply)}.`,
  }[reply.shape];
  return failureOf('transient', what, context);
}

function because(reply: Reply): string {
  return reply.fault === undefined ? '' : ` (${causesOf(reply.fault).join(', ')})`;
}
