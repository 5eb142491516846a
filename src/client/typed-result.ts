/** A run's result with its output as what the agent's definition says it is. */
import type { AgentOutput } from '../agents/output-schema.js';
import { readOutput } from '../agents/output-schema.js';
import type { AgentResult, Status } from '../agents/result.js';

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
  const read = await readOutput(output, text);
  if ('value' in read) return { ...rest, status, output: read.value };
  throw new Error(
    `The run ${runId} ended with an output that does not fit the agent's definition in this program; was it another when the run started? ${read.problem}`,
  );
}
