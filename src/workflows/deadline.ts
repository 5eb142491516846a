/** Ends work at the deadline: one timer for the whole run, set anew only when `setLimits` moves the deadline. */
import { condition } from '@temporalio/workflow';
import { inBackground } from './background.js';
import type { Run } from './run.js';

/** Starts watching; returns how to stop. */
export function watchDeadline(run: Run): () => void {
  return inBackground(() => watch(run));
}

async function watch(run: Run): Promise<never> {
  for (;;) {
    await condition(() => run.deadline !== undefined);
    const due = run.deadline ?? 0;
    const moved = (): boolean => run.deadline !== due;
    if (await condition(moved, Math.max(1, due - Date.now()))) continue;
    run.passDeadline(due);
    await condition(moved);
  }
}
