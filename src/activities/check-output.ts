/**
 * The activity `checkOutput`: whether an agent's answer has the form that its definition asks for. It is only run
 * for agents with `output`, once for each answer that would end the run.
 */
import type { AgentDefinition } from '../agents/define-agent.js';
import { readOutput } from '../agents/output-schema.js';
import type { CheckOutputInput, CheckOutputOutput } from '../agents/wire.js';
import { cutText } from '../conversation/cut-text.js';
import { objectIn } from '../conversation/json-answer.js';

const MAX_PROBLEM_CHARS = 2000;

/** An agent that this worker does not know (any more), or not with a form, is held to JSON alone. */
export async function checkOutput(
  agents: ReadonlyMap<string, AgentDefinition>,
  { agent, answer }: CheckOutputInput,
): Promise<CheckOutputOutput> {
  const output = agents.get(agent)?.output;
  if (output === undefined) return objectIn(answer) === null ? { problem: 'It is no JSON object.' } : {};
  const read = await readOutput(output, answer);
  return 'problem' in read ? { problem: cutText(read.problem, MAX_PROBLEM_CHARS) } : {};
}
