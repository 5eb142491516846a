/**
 * `agentTool`: another agent as a tool. Safe anywhere, workflows included: no worker runs it, the run itself starts a child
 * workflow (`workflows/run-child.ts`).
 */
import { z } from 'zod';
import type { AgentDefinition } from './define-agent.js';
import { defineTool, type ToolDefinition } from './define-tool.js';
import { atLeast, DefinitionError, onlyFields, type Fields } from './definition-error.js';
import { parseLimits, type LimitOptions } from './limits.js';

/** A function where agents refer to each other, or to themselves: it is called when all of them are defined. */
export type AgentReference = AgentDefinition | (() => AgentDefinition);

export interface AgentToolOptions {
  /** Default: the agent's name. Needed where the agent is given as a function. */
  readonly name?: string;
  /** For the model: what the agent can do and when to call it. */
  readonly description: string;
  /** Go before the agent's own. Tokens and dollars are bounded by what is left of the calling run's, besides. */
  readonly limits?: LimitOptions;
  /** Levels of sub-agents below a run that no agent has called. Default 3. */
  readonly maxDepth?: number;
}

const FIELDS: Fields<AgentToolOptions> = { name: true, description: true, limits: true, maxDepth: true };
const DEFAULT_DEPTH = 3;

/**
 * An agent as a tool: each call is a run of its own, a child workflow with its own conversation. Its answer is the result.
 * @throws DefinitionError where name, limits or depth cannot work.
 */
export function agentTool(agent: AgentReference, options: AgentToolOptions): ToolDefinition {
  const name = options?.name ?? nameOf('agentTool', agent);
  onlyFields(`Tool ${name}`, options, FIELDS);
  const { description, limits, maxDepth = DEFAULT_DEPTH } = options;
  if (limits !== undefined) parseLimits(`Tool ${name}`, limits);
  atLeast(`Tool ${name}: maxDepth`, maxDepth, 1);
  const tool = defineTool({
    name,
    description,
    input: z.object({
      task: z.string().min(1).describe('The task, with all that the agent has to know: it sees nothing else.'),
    }),
    // What the agent does is for its own tools to say; in plan mode it plans, too.
    effects: 'none',
    execute: notHere(name),
  });
  return { ...tool, execution: 'agent', agent: { get: getter(agent), maxDepth, ...(limits && { limits }) } };
}

export function nameOf(what: string, agent: AgentReference): string {
  if (typeof agent === 'function') throw new DefinitionError(`${what}: an agent given as a function needs a name.`);
  if (typeof agent?.name === 'string') return agent.name;
  throw new DefinitionError(`${what} needs an agent that defineAgent() made.`);
}

export function getter(agent: AgentReference): () => AgentDefinition {
  return typeof agent === 'function' ? agent : () => agent;
}

export function notHere(name: string): () => never {
  return () => {
    throw new Error(`${name} is an agent: the run calls it, not a worker.`);
  };
}
