/** Scripts: which step a request gets. Keeps how far each script has been played; knows nothing of HTTP. */
import { textOf, type RecordedRequest } from './request.js';
import type { Step } from './steps.js';

/** Answers by what was asked. `undefined` means that nothing of the kind was expected. */
export type StepMaker = (request: RecordedRequest, turn: number) => Step | undefined | Promise<Step | undefined>;

/**
 * A list is played in order, one step per request; one request too many is refused. A function never ends, and is
 * the right form where a request may come again (retries, crashes): it can answer by the conversation it sees.
 */
export type Script = readonly (Step | StepMaker)[] | StepMaker;

export interface Scripts {
  /** For every request that no task of `byTask` matches. */
  readonly script?: Script;
  /**
   * By the text of the first user message: equal to the key, else containing it (the longest such key), so that
   * many runs at once can each have a script of their own on one server.
   */
  readonly byTask?: Readonly<Record<string, Script>>;
}

/** A request that the scripts have no step for. The message is a sentence. */
export class UnexpectedRequest extends Error {
  override readonly name = 'UnexpectedRequest';
}

export class ScriptReader {
  /** By task; the script without a task is at null. */
  readonly #turns = new Map<string | null, number>();

  constructor(readonly scripts: Scripts) {}

  /**
   * Takes the request's step off its script, and notes in the request which one that was.
   * @throws UnexpectedRequest if there is none; whatever a function of the script throws.
   */
  async next(request: RecordedRequest): Promise<Step> {
    const first = textOf(request.messages.find((message) => message.role === 'user'));
    const task = this.#taskOf(first);
    const script = task === null ? this.scripts.script : this.scripts.byTask?.[task];
    request.task = task;
    if (script === undefined) {
      throw new UnexpectedRequest(`no script is for the task ${JSON.stringify(first.slice(0, 200))}`);
    }
    const turn = this.#turns.get(task) ?? 0;
    request.turn = turn;
    const step = typeof script === 'function' ? script : script[turn];
    const of = task === null ? 'the script' : `the script of task ${JSON.stringify(task)}`;
    if (step === undefined) throw new UnexpectedRequest(`${of} has ${turn} steps, and all were played`);
    this.#turns.set(task, turn + 1);
    const made = typeof step === 'function' ? await step(request, turn) : step;
    if (made === undefined) throw new UnexpectedRequest(`${of} has no answer for it (turn ${turn})`);
    return made;
  }

  /** How many steps of the lists nobody has asked for yet. */
  get stepsLeft(): number {
    const all: [string | null, Script][] = [...Object.entries(this.scripts.byTask ?? {})];
    if (this.scripts.script) all.push([null, this.scripts.script]);
    return all.reduce(
      (sum, [task, script]) =>
        typeof script === 'function' ? sum : sum + script.length - (this.#turns.get(task) ?? 0),
      0,
    );
  }

  #taskOf(first: string): string | null {
    const tasks = Object.keys(this.scripts.byTask ?? {});
    if (tasks.includes(first)) return first;
    const inside = tasks.filter((task) => first.includes(task));
    return inside.reduce<string | null>(
      (best, task) => (best === null || task.length > best.length ? task : best),
      null,
    );
  }
}
