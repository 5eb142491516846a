/**
 * What people say to a run and mean for the agents that it has called as well: force-finish, and plan mode, which lets
 * nothing with effects begin. Other modes are not passed on: what may run without asking is for the agent itself to say.
 */
import { condition, type ChildWorkflowHandle } from '@temporalio/workflow';
import type { AgentResult } from '../agents/result.js';
import type { AgentRunInput } from '../agents/run-input.js';
import { cutText } from '../conversation/cut-text.js';
import { inBackground } from './background.js';
import { forceFinishSignal, setModeSignal } from './messages.js';
import type { Run } from './run.js';
import { MAX_FINISH_REASON } from './run-state.js';

export type AgentWorkflow = (input: AgentRunInput) => Promise<AgentResult>;

/** Watches for both, as long as the child is open. Returns how to stop. */
export function passDown(run: Run, child: ChildWorkflowHandle<AgentWorkflow>): () => void {
  const watch = (what: string, is: () => boolean, tell: () => Promise<void>): (() => void) =>
    inBackground(
      async () => {
        for (;;) {
          await condition(is);
          await tell();
          // A mode may be set, left, and set again.
          await condition(() => !is());
        }
      },
      // The child has ended by itself meanwhile: its result is on its way.
      (error) => run.note(`The run ${child.workflowId} could not be told ${what}: ${String(error)}`),
    );
  const stops = [
    watch(
      'to finish',
      () => run.state.forceFinish !== null,
      () => child.signal(forceFinishSignal, { reason: reasonOf(run) }),
    ),
    // One that was started in plan mode is told once more, which changes nothing.
    watch(
      'to plan',
      () => run.state.mode === 'plan',
      () => child.signal(setModeSignal, 'plan'),
    ),
  ];
  return () => stops.forEach((stop) => stop());
}

function reasonOf({ state: { forceFinish } }: Run): string {
  const said = forceFinish?.reason;
  return `The run that called it was told to finish${said === undefined ? '.' : `: ${cutText(said, MAX_FINISH_REASON)}`}`;
}
