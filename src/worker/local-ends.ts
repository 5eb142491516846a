/**
 * When local activities end: in a moment in which their worker answers no query. One that ends while its workflow task
 * answers a query is written into the events of that task, but told to the workflow in the next one only, after whatever has
 * come in between; a replay tells it before that, so a run which a signal or an update reached in that moment does not
 * replay any more (SDK 1.24: `prepare_complete_resp` in the core's managed_run.rs). This makes it rare, not impossible:
 * Everlap's own questions are ordinary activities for that reason.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from '@temporalio/activity';
import type { ActivityInterceptors, WorkerInterceptors, WorkerStatus } from '@temporalio/worker';

/** The query comes to the worker together with the activity, or a little later. */
const FIRST_LOOK_MS = 2;
const LOOK_MS = 1;
/** A worker that is busy all the time has no quiet moment. */
const MOST_MS = 50;

interface Watched {
  getStatus(): Pick<WorkerStatus, 'numInFlightWorkflowActivations'>;
}

export class LocalEnds {
  private readonly workers = new Set<Watched>();

  constructor(private readonly mostMs = MOST_MS) {}

  readonly interceptors: WorkerInterceptors = { activity: [(context) => this.ofActivity(context)] };

  /** The result is to be called when the worker has ended. */
  workerStarts(worker: Watched): () => void {
    this.workers.add(worker);
    return () => void this.workers.delete(worker);
  }

  private ofActivity({ info }: Context): ActivityInterceptors {
    if (!info.isLocal) return {};
    return {
      inbound: {
        execute: async (input, next) => {
          try {
            return await next(input);
          } finally {
            await this.quiet();
          }
        },
      },
    };
  }

  private async quiet(): Promise<void> {
    const giveUpAt = performance.now() + this.mostMs;
    await sleep(FIRST_LOOK_MS);
    while (this.isBusy() && performance.now() < giveUpAt) await sleep(LOOK_MS);
  }

  private isBusy(): boolean {
    return [...this.workers].some((worker) => worker.getStatus().numInFlightWorkflowActivations > 0);
  }
}
