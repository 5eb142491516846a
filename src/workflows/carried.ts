/**
 * What continue-as-new hands on: the state, without the task where it is the input's own. The task may have 1 MB, and a
 * payload takes 2. Pure.
 */
import type { AgentSpec } from '../agents/spec.js';
import { isJsonObject } from '../conversation/json.js';
import type { CarriedRun, RunState } from './run-state.js';

export function carriedOf(state: RunState, spec: AgentSpec | undefined, task: string): CarriedRun {
  return { state: withTask(state, task, ''), ...(spec && { spec }) };
}

/** The state as it was: for the run that goes on, and for watchers, which know less of it. */
export function stateOf<State extends Told>({ state }: { readonly state: State }, task: string): State {
  return withTask(state, '', task);
}

/** Whether this is the kind of value that continue-as-new writes: somebody may have typed another. */
export function isCarried(value: unknown): value is CarriedRun {
  if (!isJsonObject(value) || !isJsonObject(value['state']) || !isJsonObject(value['state']['conversation']))
    return false;
  const { messages, head } = value['state']['conversation'];
  if (!Array.isArray(messages) || !isJsonObject(head) || !(value['spec'] === undefined || isJsonObject(value['spec'])))
    return false;
  return messages.every(
    (message) => isJsonObject(message) && typeof message['role'] === 'string' && typeof message['text'] === 'string',
  );
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
