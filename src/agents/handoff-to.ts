/**
 * `handoffTo`: a tool by which the conversation goes over to another agent. Safe anywhere, workflows included: no worker
 * runs it, the run takes the other agent's spec (`workflows/hand-over.ts`).
 */
import { z } from 'zod';
import { getter, nameOf, notHere, type AgentReference } from './agent-tool.js';
import { defineTool, type ToolDefinition } from './define-tool.js';
import { onlyFields, type Fields } from './definition-error.js';

export interface HandoffOptions {
  /** Default `handoff_to_<agent>`. Needed where the agent is given as a function. */
  readonly name?: string;
  readonly description?: string;
}

const FIELDS: Fields<HandoffOptions> = { name: true, description: true };

/**
 * A tool by which the model hands the conversation over to another agent, within the run: that agent's instructions and
 * tools take over, the run's limits stay.
 * @throws DefinitionError where the name cannot work.
 */
export function handoffTo(agent: AgentReference, options: HandoffOptions = {}): ToolDefinition {
  const name = options?.name ?? `handoff_to_${nameOf('handoffTo', agent)}`;
  onlyFields(`Tool ${name}`, options, FIELDS);
  const tool = defineTool({
    name,
    description:
      options.description ??
      `Hand this conversation over to another agent${typeof agent === 'function' ? '' : `, ${agent.name}`}. It goes on in your place.`,
    input: z.object({}),
    effects: 'none',
    execute: notHere(name),
  });
  return { ...tool, execution: 'handoff', agent: { get: getter(agent) } };
}
