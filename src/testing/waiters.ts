/** Promises for what has not happened yet: looked at again whenever something happens. */

interface Waiter {
  /** Resolves and says true once it is there. */
  readonly look: () => boolean;
  readonly reject: (error: Error) => void;
}

export class Waiters {
  readonly #waiters = new Set<Waiter>();
  #ended: Error | null = null;

  /** Resolves with what `find` finds, now or after some later {@link wake}. Rejects once {@link end} was called. */
  for<T>(find: () => T | undefined): Promise<T> {
    const promise = new Promise<T>((resolve, reject) => {
      const look = (): boolean => {
        const found = find();
        if (found !== undefined) resolve(found);
        return found !== undefined;
      };
      if (look()) return;
      if (this.#ended) reject(this.#ended);
      else this.#waiters.add({ look, reject });
    });
    // A test that has failed already never awaits it; whoever does still gets the rejection.
    promise.catch(() => undefined);
    return promise;
  }

  wake(): void {
    for (const waiter of this.#waiters) if (waiter.look()) this.#waiters.delete(waiter);
  }

  end(error: Error): void {
    this.wake();
    this.#ended = error;
    for (const waiter of this.#waiters) waiter.reject(error);
    this.#waiters.clear();
  }
}
