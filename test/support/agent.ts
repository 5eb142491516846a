/** An agent of which a test says only what matters there. */
import { defineAgent, type AgentDefinition, type AgentOptions } from 'everlap';

export function agent(name: string, options: Partial<AgentOptions> = {}): AgentDefinition {
  return defineAgent({ name, instructions: `You are ${name}.`, model: 'gpt-5-mini', ...options });
}
