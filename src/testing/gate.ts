/** Gates: how a test holds a scripted reply at a point and lets it go, without any waiting by time. */

export interface Gate {
  /** Resolves when a reply has arrived at the gate and stands there. */
  readonly reached: Promise<void>;
  /** Resolves when the gate is open. */
  readonly promise: Promise<void>;
  /** Lets everything through that stands here or comes later. Again: no effect. */
  open(): void;
  /** What a reply does at the gate: says that it is here, and waits until it is open. */
  wait(): Promise<void>;
}

/** What a reply can be made to wait for. A function is called when the reply has come to that point. */
export type Wait = Gate | PromiseLike<unknown> | (() => unknown);

/** A closed gate. */
export function gate(): Gate {
  const reached = deferred();
  const opened = deferred();
  return {
    reached: reached.promise,
    promise: opened.promise,
    open: opened.resolve,
    wait: () => {
      reached.resolve();
      return opened.promise;
    },
  };
}

/** Waits as {@link Wait} says. Rejects where the promise or the function does. */
export async function pass(wait: Wait): Promise<void> {
  await (typeof wait === 'function' ? wait() : 'wait' in wait ? wait.wait() : wait);
}

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
