/**
 * What continue-as-new hands on: the state, without the task where it is the input's own. The task may have 1 MB, and a
 * payload takes 2. Pure.
 */
import type { AgentSpec } from '../agents/spec.js';
import type { CarriedRun, RunState } from './run-state.js';

export function carriedOf(state: RunState, spec: AgentSpec | undefined, task: string): CarriedRun {
  return { state: withTask(state, task, ''), ...(spec && { spec }) };
}

/** The state as it was: for the run that goes on, and for watchers, which know less of it. */
export function stateOf<State extends Told>({ state }: { readonly state: State }, task: string): State {
  return withTask(state, '', task);
}

interface Told {
  readonly conversation: { readonly messages: readonly ToldMessage[] };
}
interface ToldMessage {
  readonly role: string;
  readonly kind?: string | undefined;
  readonly text: string;
}

function withTask<State extends Told>(state: State, is: string, becomes: string): State {
  const messages = state.conversation.messages.map((message) => {
    const isIt = message.role === 'user' && message.kind === 'task' && message.text === is;
    return isIt ? { ...message, text: becomes } : message;
  });
  return { ...state, conversation: { ...state.conversation, messages } };
}
