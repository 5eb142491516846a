/** When model calls are to end, since their worker does: shared by all workers of one plugin. Knows no worker. */
export class Shutdown {
  private running = 0;
  private controller = new AbortController();

  /** Aborts when the last worker begins to shut down; anew for workers that start after that. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** A worker starts. The result is to be called when it begins to shut down; calling it again does nothing. */
  workerStarts(): () => void {
    this.running += 1;
    if (this.controller.signal.aborted) this.controller = new AbortController();
    let stopping = false;
    return () => {
      if (stopping) return;
      stopping = true;
      this.running -= 1;
      if (this.running === 0) this.controller.abort();
    };
  }
}
