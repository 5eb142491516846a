/**
 * What an error of an AI SDK provider means. By shape and name: a worker may have several copies of the AI SDK's error
 * classes, and none of them is imported here. Pure.
 */
import { isJsonObject } from '../../conversation/json.js';
import { causesOf, isSilence } from '../causes.js';
import { readErrorValue } from '../error-words.js';
import {
  classOf,
  type Failure,
  type FailureContext,
  failureOf,
  failureOfError,
  failureOfReply,
} from '../failure-class.js';
import { fieldsOf, textOf } from '../json-text.js';
import type { FailureClass } from '../provider.js';
import type { HeaderReader } from '../retry-after.js';

/** Errors of the AI SDK that came before anything was asked. */
const BY_NAME: Readonly<Record<string, FailureClass>> = {
  AI_LoadAPIKeyError: 'auth',
  AI_LoadSettingError: 'bad_request',
  AI_InvalidArgumentError: 'bad_request',
  AI_InvalidPromptError: 'bad_request',
  AI_NoSuchModelError: 'bad_request',
  AI_NoSuchProviderReferenceError: 'bad_request',
  AI_UnsupportedFunctionalityError: 'bad_request',
};

/** Of something that was thrown, or came as an error within the stream. */
export function failureOfThrown(error: unknown, context: FailureContext): Failure {
  if (!isJsonObject(error)) return failureOfError(String(error), context);
  const { statusCode, isRetryable, data } = error;
  const named = BY_NAME[textOf(error['name'])];
  if (named) return failureOf(named, `could not be asked: ${textOf(error['message'])}`, context);
  if (typeof statusCode === 'number' && statusCode >= 400) {
    const body = textOf(error['responseBody']) || JSON.stringify(data ?? { message: error['message'] ?? '' });
    const reply = { status: statusCode, headers: headersOf(error['responseHeaders']), body };
    const failure = failureOfReply(reply, context);
    const mayPass = failure.failureClass === 'bad_request' && isRetryable === true;
    return mayPass ? { ...failure, failureClass: 'transient' } : failure;
  }
  if (!(error instanceof Error)) return failureOfError(error, context);
  const reasons = causesOf(error);
  if (isSilence(reasons)) return failureOf('stalled', `stalled: ${reasons.join(', ')}`, context);
  const words = readErrorValue({ message: reasons.join(', '), error: data ?? null });
  return failureOf(classOf(words.status, words), `gave no answer: ${words.text}`, context);
}

function headersOf(headers: unknown): HeaderReader {
  const entries = Object.entries(fieldsOf(headers)).map(([name, value]) => [name.toLowerCase(), value] as const);
  const lower = new Map(entries);
  return { get: (name) => textOf(lower.get(name.toLowerCase())) || null };
}
