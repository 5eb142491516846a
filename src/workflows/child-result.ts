/** From the end of a child run to the text that its parent's model reads. Pure. */
import type { AgentResult } from '../agents/result.js';
import { headAndTail } from '../conversation/cut-text.js';
import type { Outcome } from './run-call.js';

export interface ChildEnd {
  /** null where the child was ended from outside: terminated, timed out. */
  readonly result: Pick<AgentResult, 'status' | 'reason' | 'output' | 'error' | 'forceFinishReason'> | null;
  /** The last words of its model, where it had no answer. */
  readonly lastText: string | null;
}

/** The answer; for every other end a sentence that says which, and what the agent had by then. */
export function outcomeOfChild(agent: string, { result, lastText }: ChildEnd, maxChars: number): Outcome {
  if (result?.status === 'completed') return { text: headAndTail(result.output || '(no answer)', maxChars) };
  const had = result?.output || lastText;
  const text = `${sentence(agent, result)}${had ? `\nWhat it had by then:\n${had}` : ''}`;
  return { text: headAndTail(text, maxChars), isError: true };
}

function sentence(agent: string, result: ChildEnd['result']): string {
  switch (result?.status) {
    case 'exhausted':
      return `The agent ${agent} reached a limit before it had an answer (${result.reason}).`;
    case 'stopped':
      return result.reason === 'force_finished'
        ? `The agent ${agent} was told to finish before it had an answer (force_finished)${because(result.forceFinishReason)}`
        : `The agent ${agent} was stopped before it had an answer (${result.reason}).`;
    case 'failed':
      return `The agent ${agent} failed (${result.reason}): ${result.error ?? 'no reason given'}`;
    case 'cancelled':
      return `The agent ${agent} was cancelled before it had an answer (cancelled).`;
    default:
      return `The agent ${agent} was ended from outside before it had an answer (terminated or timed out).`;
  }
}

function because(reason: string | undefined): string {
  return reason === undefined ? '.' : `: ${reason}`;
}
