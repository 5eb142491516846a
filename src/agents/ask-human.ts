/** `askHuman`: a tool whose result is a person's answer. Safe anywhere, workflows included: it runs nowhere. */
import { z } from 'zod';
import { defineTool, type ToolDefinition } from './define-tool.js';
import { DefinitionError, onlyFields, type Fields } from './definition-error.js';
import { toMs, type Duration } from './duration.js';

export interface AskHumanOptions {
  /** Default `ask_human`. */
  readonly name?: string;
  readonly description?: string;
  /** How long an answer is waited for. Default: without end. */
  readonly timeout?: Duration;
  /** The answer where none came in time; needs a `timeout`. Default: a sentence that says so. */
  readonly defaultAnswer?: string;
}

const FIELDS: Fields<AskHumanOptions> = { name: true, description: true, timeout: true, defaultAnswer: true };

/**
 * The question waits in `state` (`pending`), and is answered by the update or signal `answer` with `{ callId, text }`: one of
 * its options, or anything else.
 * @throws DefinitionError where name, timeout or default cannot work.
 */
export function askHuman(options: AskHumanOptions = {}): ToolDefinition {
  onlyFields(`Tool ${options?.name ?? 'ask_human'}`, options, FIELDS);
  const { name = 'ask_human', description, timeout, defaultAnswer } = options;
  if (defaultAnswer !== undefined && timeout === undefined) {
    throw new DefinitionError(
      `Tool ${name}: defaultAnswer is given where no answer comes in time; it needs a timeout.`,
    );
  }
  const tool = defineTool({
    name,
    description:
      description ??
      'Ask a person a question and wait for the answer. Only for what you cannot find out or decide yourself.',
    input: z.object({
      question: z.string().min(1),
      options: z.array(z.string()).optional().describe('Answers to choose from, where there are such.'),
    }),
    effects: 'none',
    ...(timeout !== undefined && { approvalTimeout: toMs(`Tool ${name}: timeout`, timeout) }),
    execute: () => {
      throw new Error(`${name} is answered by a person, not by a worker.`);
    },
  });
  return { ...tool, execution: 'question', ...(defaultAnswer !== undefined && { defaultAnswer }) };
}
