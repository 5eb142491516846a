/** What a run has given, its result or one answer of a session, as what the agent's definition says it is. */
import type { AgentOutput } from '../agents/output-schema.js';
import { readOutput } from '../agents/output-schema.js';
import type { AgentResult, Reason, Status } from '../agents/result.js';
import type { AnsweredMessage } from '../workflows/messages.js';

/**
 * The result of a run. A completed one of an agent with `output` has the parsed value; whatever ended otherwise has the
 * text that there is.
 */
export type RunResult<Output = string | null> = Omit<AgentResult, 'status' | 'output'> &
  (
    | { readonly status: 'completed'; readonly output: Output }
    | { readonly status: Exclude<Status, 'completed'>; readonly output: string | null }
  );

/** @throws Error where a completed run has no output, or one that does not fit the definition that this program has. */
export async function typedResult<Output>(
  runId: string,
  result: AgentResult,
  output: AgentOutput<Output>,
): Promise<RunResult<Output>> {
  const { status, output: text, ...rest } = result;
  if (status !== 'completed') return { ...rest, status, output: text };
  if (text === null) {
    throw new Error(
      `The run ${runId} ended before any answer was given, as a session may, so there is no output. Without the agent, ` +
        `client.handle('${runId}') gives the result as it is.`,
    );
  }
  return { ...rest, status, output: await valueOf(text, output, `The run ${runId} ended with an output`) };
}

/**
 * How a message of a session was answered. An answer of an agent with `output` is the parsed value; what there is
 * otherwise (a summary at a limit, say) is text.
 */
export type SessionAnswer<Output = string | null> = Omit<AnsweredMessage, 'reason' | 'answer'> &
  (
    | { readonly reason: 'answered'; readonly answer: Output }
    | { readonly reason: Exclude<Reason, 'answered'>; readonly answer: string | null }
  );

/** @throws Error where the answer does not fit the definition that this program has. */
export async function typedAnswer<Output>(
  runId: string,
  answered: AnsweredMessage,
  output: AgentOutput<Output> | undefined,
): Promise<SessionAnswer<Output>> {
  // Without a form, Output is its default: the text as it is.
  if (output === undefined) return answered as SessionAnswer<Output>;
  const { reason, answer: text, ...rest } = answered;
  if (reason !== 'answered') return { ...rest, reason, answer: text };
  const what = `The run ${runId} answered the message ${rest.id} with something`;
  return { ...rest, reason, answer: await valueOf(text ?? '', output, what) };
}

async function valueOf<Output>(text: string, output: AgentOutput<Output>, what: string): Promise<Output> {
  const read = await readOutput(output, text);
  if ('value' in read) return read.value;
  throw new Error(
    `${what} that does not fit the agent's definition in this program; was it another when the run started? ${read.problem}`,
  );
}
