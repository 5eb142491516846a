/** `finish`: for agents that end on purpose. What it is given is the run's output. */
import { z } from 'zod';
import { defineTool, type ToolDefinition } from '../agents/define-tool.js';
import { onlyFields, type Fields } from '../agents/definition-error.js';

export interface FinishToolOptions {
  /** Default `finish`. */
  readonly name?: string;
  /** For the model: when to call it. */
  readonly description?: string;
}

const FIELDS: Fields<FinishToolOptions> = { name: true, description: true };

/** Ends the run as `tool_ended`, after the other calls of the same answer. */
export function finishTool(options: FinishToolOptions = {}): ToolDefinition {
  const name = options?.name ?? 'finish';
  onlyFields(`Tool ${name}`, options, FIELDS);
  return defineTool({
    name,
    description:
      options.description ??
      'End the task. Call it once, when all is done or nothing more can be done, with the final result.',
    input: z.object({
      output: z.string().min(1).describe('The final result, whole: nothing else of what you said is kept.'),
    }),
    effects: 'none',
    ends: true,
    execute: ({ output }) => output,
  });
}
