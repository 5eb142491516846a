/** Reading and closing a conversation. Pure; knows no queue, no limit and no provider. */
import type { AssistantMessage, Message, ToolCall, ToolMessage } from './message.js';

export function callsOf(message: AssistantMessage): readonly ToolCall[] {
  return message.toolCalls ?? [];
}

/** Whitespace is no answer, and reasoning alone is none either. */
export function isEmptyAnswer(message: AssistantMessage): boolean {
  return message.text.trim() === '' && callsOf(message).length === 0;
}

/**
 * The calls of the last assistant message that have no result yet, in call order. Empty where the conversation is
 * valid. Only the last message can have open calls: results always go in together.
 */
export function openCalls(messages: readonly Message[]): readonly ToolCall[] {
  const last = messages.at(-1);
  return last?.role === 'assistant' ? callsOf(last) : [];
}

export function toolResult(call: ToolCall, text: string, isError: boolean): ToolMessage {
  return { role: 'tool', callId: call.id, name: call.name, text, ...(isError && { isError: true }) };
}
