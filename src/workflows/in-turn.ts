/**
 * The order in which calls may run: what is parallel runs together, what is serial alone; first come, first served. Pure;
 * knows nothing of what it starts.
 */
export type Concurrency = 'parallel' | 'serial';

export class InTurn {
  /** The last serial one, and what was to begin after it. All before it have ended once it begins. */
  private alone: Promise<void> | undefined;
  private together: Promise<void>[] = [];

  /** Starts the work when its turn comes, at once where it is now. Gives what becomes of it. */
  start(concurrency: Concurrency, work: () => Promise<void>): Promise<void> {
    const before = [...(this.alone ? [this.alone] : []), ...(concurrency === 'serial' ? this.together : [])];
    const done = before.length === 0 ? work() : Promise.allSettled(before).then(work);
    if (concurrency === 'serial') {
      this.alone = done;
      this.together = [];
    } else {
      this.together.push(done);
    }
    return done;
  }
}
