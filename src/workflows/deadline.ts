/** Ends work at the deadline: one timer for the whole run, set anew only when `setLimits` moves the deadline. */
import { CancellationScope, condition, isCancellation } from '@temporalio/workflow';
import type { Run } from './run.js';

/** Starts watching; returns how to stop. */
export function watchDeadline(run: Run): () => void {
  const scope = new CancellationScope();
  scope
    .run(() => watch(run))
    .catch((error: unknown) => {
      if (!isCancellation(error)) throw error;
    });
  return () => scope.cancel();
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
