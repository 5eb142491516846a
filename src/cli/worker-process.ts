/**
 * A worker in a process of its own, for `everlap dev`: started again when its sources change and when it dies. Both ends
 * of the line between the two processes are here.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { note, printLine, styled } from './output.js';
import { watchSources, type SourceWatch } from './watch-sources.js';

const MESSAGE = z.discriminatedUnion('type', [
  z.object({ type: z.literal('loaded'), sources: z.array(z.string()) }),
  z.object({ type: z.literal('polls') }),
]);

/** What the worker tells the process that has started it. */
export interface ParentLink {
  loaded(sources: readonly string[]): void;
  polls(): void;
  /** The parent has ended, however it did. */
  onGone(gone: () => void): void;
}

/** undefined where this process was started by hand. */
export function linkToParent(): ParentLink | undefined {
  const send = process.send?.bind(process);
  if (send === undefined) return undefined;
  return {
    loaded: (sources) => void send({ type: 'loaded', sources }),
    polls: () => void send({ type: 'polls' }),
    onGone: (gone) => {
      if (process.connected) process.once('disconnect', gone);
      else gone();
    },
  };
}

/** The worker itself needs at most 10 seconds and says so if that was not enough. */
const STOP_WITHIN_MS = 15_000;
const AGAIN_AFTER_MS = 1_000;
const MAIN = fileURLToPath(new URL('./main.js', import.meta.url));

export class WorkerProcess {
  private child: ChildProcess | null = null;
  private watch: SourceWatch | undefined;
  private again: NodeJS.Timeout | undefined;
  private stopping = false;
  /** Restarts follow one another. */
  private turn: Promise<void> = Promise.resolve();

  /** @param args of `everlap worker`. @param folder whose sources are watched. */
  constructor(
    private readonly args: readonly string[],
    private readonly folder: string,
  ) {}

  start(): void {
    this.watch = watchSources(this.folder, (file) => this.restart(file));
    this.spawn();
  }

  /** Resolves when the process is gone. */
  async stop(): Promise<void> {
    this.stopping = true;
    this.watch?.close();
    clearTimeout(this.again);
    await this.turn;
    await this.end();
  }

  private restart(file: string): void {
    printLine(styled('dim', `${file} changed; the worker is started again.`));
    clearTimeout(this.again);
    this.turn = this.turn.then(async () => {
      await this.end();
      if (!this.stopping) this.spawn();
    });
  }

  private spawn(): void {
    // A process group of its own: Ctrl-C in the terminal is for the parent, which then stops the worker before the server.
    const child = fork(MAIN, ['worker', ...this.args], { detached: true, env: environment() });
    this.child = child;
    let polled = false;
    child.on('message', (raw) => {
      const message = MESSAGE.safeParse(raw).data;
      if (message?.type === 'loaded') this.watch?.alsoIn(message.sources);
      polled ||= message?.type === 'polls';
    });
    child.once('exit', (code, signal) => {
      if (this.child !== child) return; // it was told to
      this.child = null;
      if (!polled) return note('The worker did not start; it is started again when a source changes.');
      note(`The worker ended by itself (${signal ?? `exit code ${code}`}); it is started again.`);
      this.again = setTimeout(() => this.spawn(), AGAIN_AFTER_MS);
    });
  }

  private async end(): Promise<void> {
    const { child } = this;
    this.child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS);
    await gone;
    clearTimeout(late);
  }
}

/** What points to other servers does not count here: the worker is for the one that was just started. */
function environment(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('TEMPORAL_'));
  // One that is not there counts as none; the SDK cannot read an empty one.
  return { ...Object.fromEntries(own), TEMPORAL_CONFIG_FILE: `${MAIN}.toml` };
}
