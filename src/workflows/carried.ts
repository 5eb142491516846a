/**
 * What continue-as-new hands on: the state, without the task where it is the input's own. The task may have 1 MB, and a
 * payload takes 2. Pure.
 */
import type { AgentSpec } from '../agents/spec.js';
import type { Message } from '../conversation/message.js';
import type { CarriedRun, RunState } from './run-state.js';

export function carriedOf(state: RunState, spec: AgentSpec | undefined, task: string): CarriedRun {
  return { state: withTask(state, task, ''), ...(spec && { spec }) };
}

/** The state as it was. */
export function stateOf({ state }: CarriedRun, task: string): RunState {
  return withTask(state, '', task);
}

function withTask(state: RunState, is: string, becomes: string): RunState {
  const messages = state.conversation.messages.map((message): Message => {
    const isIt = message.role === 'user' && message.kind === 'task' && message.text === is;
    return isIt ? { ...message, text: becomes } : message;
  });
  return { ...state, conversation: { ...state.conversation, messages } };
}
