/** Writes an answer of the script in the chat completions format. Pure; knows nothing of sockets and time. */
import type { JsonObject } from '../conversation/json.js';
import type { AnswerStep, ScriptedCall, ScriptedUsage } from './steps.js';

/** What an answer takes over from the request. */
export interface AnswerContext {
  readonly requestIndex: number;
  readonly model: string;
  /** Characters of the request's body. */
  readonly promptChars: number;
  /** Whether the stream tells usage where the step leaves it open. */
  readonly includeUsage: boolean;
}

export interface Chunks {
  readonly chunks: readonly JsonObject[];
  /** How many of them come before the one with the finish reason. */
  readonly beforeFinish: number;
}

const CHARS_PER_TOKEN = 4;
const DEFAULT_PIECE_CHARS = 16;

/** The events of a streamed answer, without `[DONE]`. */
export function chunksOf(step: AnswerStep, context: AnswerContext): Chunks {
  const head = headOf(step, context, 'chat.completion.chunk');
  const chunk = (delta: JsonObject, finish: string | null = null): JsonObject => ({
    ...head,
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const chunks = [
    chunk({ role: 'assistant', content: step.text === undefined ? null : '', ...step.extra }),
    ...pieces(step.reasoning, step.pieceChars).map((piece) => chunk({ reasoning_content: piece })),
    ...pieces(step.text, step.pieceChars).map((piece) => chunk({ content: piece })),
    ...callDeltas(step, context).map((delta) => chunk({ tool_calls: [delta] })),
  ];
  const beforeFinish = chunks.length;
  const finish = finishOf(step);
  if (finish !== null) chunks.push(chunk({}, finish));
  const usage = step.usage === undefined && !context.includeUsage ? undefined : usageOf(step, context);
  if (usage !== undefined) chunks.push({ ...head, choices: [], usage });
  return { chunks, beforeFinish };
}

/** The same answer as one object. */
export function completionOf(step: AnswerStep, context: AnswerContext): JsonObject {
  const toolCalls = (step.calls ?? []).map((call, at) => callFields(call, at, context));
  const usage = usageOf(step, context);
  return {
    ...headOf(step, context, 'chat.completion'),
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: step.text === undefined ? null : joined(step.text),
          ...(step.reasoning !== undefined && { reasoning_content: joined(step.reasoning) }),
          ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
          ...step.extra,
        },
        finish_reason: finishOf(step),
      },
    ],
    ...(usage !== undefined && { usage }),
  };
}

function headOf(step: AnswerStep, context: AnswerContext, object: string): JsonObject {
  return {
    id: `chatcmpl-scripted-${context.requestIndex}`,
    object,
    created: 0,
    model: step.model ?? context.model,
    system_fingerprint: 'scripted',
  };
}

function finishOf(step: AnswerStep): string | null {
  if (step.finish !== undefined) return step.finish;
  return (step.calls ?? []).length > 0 ? 'tool_calls' : 'stop';
}

function callDeltas(step: AnswerStep, context: AnswerContext): JsonObject[] {
  const perCall = (step.calls ?? []).map((call, at) => {
    const whole = callFields(call, at, context);
    if (call.index === null) return [whole];
    const index = call.index ?? at;
    return [
      { index, ...whole, function: { name: call.name, arguments: '' } },
      ...pieces(argumentsOf(call), step.pieceChars).map((piece) => ({ index, function: { arguments: piece } })),
    ];
  });
  if (step.interleave !== true) return perCall.flat();
  const rounds = Math.max(0, ...perCall.map((deltas) => deltas.length));
  return Array.from({ length: rounds }, (_, round) =>
    perCall.flatMap((deltas) => deltas.slice(round, round + 1)),
  ).flat();
}

function callFields(call: ScriptedCall, at: number, { requestIndex }: AnswerContext): JsonObject {
  const id = call.id === undefined ? `call_${requestIndex}_${at}` : call.id;
  return {
    ...(id !== null && { id }),
    type: 'function',
    function: { name: call.name, arguments: argumentsOf(call) },
    ...call.extra,
  };
}

function argumentsOf(call: ScriptedCall): string {
  return typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments);
}

/** undefined: the reply tells none. */
function usageOf(step: AnswerStep, context: AnswerContext): JsonObject | null | undefined {
  if (step.usage === 'absent') return undefined;
  if (step.usage === null) return null;
  const usage = step.usage ?? estimate(step, context);
  return { ...usage, total_tokens: usage.total_tokens ?? usage.prompt_tokens + usage.completion_tokens };
}

function estimate(step: AnswerStep, { promptChars }: AnswerContext): ScriptedUsage {
  const called = (step.calls ?? []).map((call) => call.name + argumentsOf(call)).join('');
  const said = joined(step.reasoning ?? '') + joined(step.text ?? '') + called;
  return {
    prompt_tokens: Math.ceil(promptChars / CHARS_PER_TOKEN),
    completion_tokens: Math.ceil(said.length / CHARS_PER_TOKEN),
  };
}

function joined(words: string | readonly string[]): string {
  return typeof words === 'string' ? words : words.join('');
}

/** By code points, so that no emoji is split unless the script has split it itself. */
function pieces(words: string | readonly string[] | undefined, size = DEFAULT_PIECE_CHARS): readonly string[] {
  if (words === undefined) return [];
  if (typeof words !== 'string') return words;
  const points = Array.from(words);
  const count = Math.ceil(points.length / size);
  return Array.from({ length: count }, (_, at) => points.slice(at * size, (at + 1) * size).join(''));
}
