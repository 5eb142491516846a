/** The input of the workflow `agentRun`, as people write it; checked by `describeAgent`. Plain data. */
import type { AgentOptions, LapsOptions } from './define-agent.js';
import type { SessionOptions } from './session.js';
import type { CarriedRun } from '../workflows/run-state.js';

export interface AgentRunInput {
  readonly agent: string;
  /** May be empty where the agent has a session: the first message is the task then. */
  readonly task: string;
  readonly settings?: RunSettings;
  /** Written only by a run that calls an agent as a tool. */
  readonly parent?: ParentRun;
  /** Written only by continue-as-new. */
  readonly carried?: CarriedRun;
}

export interface ParentRun {
  /** Its workflow id. */
  readonly runId: string;
  readonly callId: string;
  /** Of this run: 1 for the child of a run that no agent has called. */
  readonly depth: number;
}

/** What a run may have otherwise than its agent's definition says. */
export type RunSettings = Partial<
  Pick<
    AgentOptions,
    'model' | 'fallbackModels' | 'limits' | 'onLimit' | 'mode' | 'stuckWindow' | 'context' | 'toolResult'
  >
> & { readonly laps?: LapsOptions | null; readonly session?: SessionOptions | null };
