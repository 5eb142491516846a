/** Asks many runs the same at once, some at a time: one that does not answer holds up no other for long. */
import { note } from './output.js';
import { sentenceOf } from './cli-error.js';
import type { Session } from './connect.js';
import { count } from './figures.js';
import { describeRun, HOW_TO_GET_A_WORKER, workerPolls } from './workers.js';

const AT_ONCE = 10;

/** The answers by run id, in the order of `ids`. Who did not answer is left out, and told on standard error. */
export async function askAll<T>(
  session: Session,
  ids: readonly string[],
  ask: (id: string) => Promise<T>,
): Promise<Map<string, T>> {
  /** Each queue is looked at once. */
  const polled = new Map<string, Promise<boolean>>();
  const without = new Map<string, number>();
  const answers = await inTurns(ids, async (id): Promise<{ readonly answer: T } | undefined> => {
    try {
      const { taskQueue } = await describeRun(session, id);
      const looked = polled.get(taskQueue) ?? workerPolls(session, taskQueue);
      polled.set(taskQueue, looked);
      if (await looked) return { answer: await ask(id) };
      without.set(taskQueue, (without.get(taskQueue) ?? 0) + 1);
    } catch (error) {
      note(`The run ${id} does not answer: ${sentenceOf(error)}`);
    }
    return undefined;
  });
  for (const [taskQueue, runs] of without) {
    note(
      `${count(runs, 'run')} cannot answer, since no worker polls the task queue "${taskQueue}"; ${HOW_TO_GET_A_WORKER}.`,
    );
  }
  return new Map(ids.flatMap((id, at) => (answers[at] === undefined ? [] : [[id, answers[at].answer] as const])));
}

/** The results in the order of `items`, whichever came first. @throws what `work` throws. */
export async function inTurns<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results = new Array<Result>(items.length);
  const left = items.entries();
  const worker = async (): Promise<void> => {
    for (const [at, item] of left) results[at] = await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return results;
}
