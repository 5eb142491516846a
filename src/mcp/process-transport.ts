/**
 * Speaks MCP with a program over its stdin and stdout. Unlike the SDK's own transport it starts the program in a process
 * group of its own and ends all of the group, since `npx` and scripts start the real server as a child; and it knows how
 * the program ended.
 */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { cutText } from '../conversation/cut-text.js';
import { killGroup } from '../tools/run-process.js';
import { codeOf } from '../tools/workspace.js';
import { Lines } from './lines.js';
import type { McpSdk } from './sdk.js';

export interface ProcessTarget {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Takes secrets out of a line, before it is cut. */
  readonly hide: (text: string) => string;
  /** One line of its stderr. */
  readonly onStderr: (line: string) => void;
}

/** The program was not started, so there is nothing to be said of how it ended. */
export class NotStarted extends Error {
  constructor(
    message: string,
    /** There is no such program or folder: trying again does not help. */
    readonly isFinal: boolean,
  ) {
    super(message);
  }
}

/** Of `spawn`: what is not there, or may not be run. */
const FINAL_CODES: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'EACCES']);

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** A message is one line; images travel in it as base64. */
const MAX_MESSAGE_CHARS = 64 * 1024 * 1024;
/** Characters read of a line of its stderr; far more than are told, so that no secret is cut before it is hidden. */
const MAX_STDERR_LINE = 20_000;
const MAX_TOLD = 2_000;
const STDERR_KEPT = 1_000;
/** For a program to end by itself when its stdin has ended, and again after SIGTERM. */
const GRACE_MS = 1_000;
/** For output still on its way when the program has ended; a child of it may hold the pipes open. */
const DRAIN_MS = 300;

/** Programs that run, for the case that the worker's process exits without having shut down. */
const running = new Set<Child>();
let watchesExit = false;

export class ProcessTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  private child: Child | undefined;
  private lastStderr = '';
  private how = '';
  private closing: Promise<void> | undefined;
  private exited: Promise<void> = Promise.resolve();
  private finished: Promise<void> = Promise.resolve();

  constructor(
    private readonly target: ProcessTarget,
    private readonly sdk: Pick<McpSdk, 'serializeMessage' | 'deserializeMessage'>,
  ) {}

  get pid(): number | undefined {
    return this.child?.pid;
  }

  /** How it ended, as part of a sentence; '' while it runs. */
  get ended(): string {
    const words = this.lastStderr.trim();
    return this.how === '' || words === '' ? this.how : `${this.how}; its last words: ${words}`;
  }

  async start(): Promise<void> {
    const child = spawned(this.target);
    this.child = child;
    this.read(child);
    this.exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.how ||= code === null ? `signal ${signal}` : `exit code ${code}`;
        running.delete(child);
        resolve();
      });
    });
    this.finished = this.finish(child);
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (error) => {
        this.how ||= error.message;
        reject(notStarted(this.target, error));
      });
    });
    running.add(child);
    if (!watchesExit) {
      watchesExit = true;
      process.once('exit', () => running.forEach((one) => killGroup(one, 'SIGKILL')));
    }
  }

  private read(child: Child): void {
    const messages = new Lines(
      MAX_MESSAGE_CHARS,
      (line) => this.receive(line),
      () => {
        this.how ||= `it sent a message of more than ${MAX_MESSAGE_CHARS} characters`;
        void this.close();
      },
    );
    const say = (raw: string): void => {
      const line = cutText(this.target.hide(raw), MAX_TOLD);
      this.lastStderr = `${this.lastStderr}${line}\n`.slice(-STDERR_KEPT);
      this.target.onStderr(line);
    };
    const words = new Lines(MAX_STDERR_LINE, say, say);
    child.stdout.setEncoding('utf8').on('data', (text: string) => messages.push(text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => words.push(text));
    child.stderr.once('end', () => words.end());
    // Writing to a program that has ended; its end is told by its exit.
    child.stdin.on('error', (error) => this.onerror?.(error));
  }

  private receive(line: string): void {
    let message: JSONRPCMessage;
    try {
      message = this.sdk.deserializeMessage(line);
    } catch {
      // Some servers greet on stdout.
      this.target.onStderr(`(on stdout, no MCP message) ${cutText(this.target.hide(line), MAX_TOLD)}`);
      return;
    }
    this.onmessage?.(message);
  }

  /** Tells that it has ended once its last words have been read. */
  private async finish(child: Child): Promise<void> {
    await new Promise<void>((resolve) => {
      child.once('close', () => resolve());
      child.once('exit', () => {
        // What it left behind ends with it.
        killGroup(child, 'SIGKILL');
        setTimeout(resolve, DRAIN_MS).unref();
      });
    });
    child.stdout.destroy();
    child.stderr.destroy();
    this.onclose?.();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const { child } = this;
    if (child === undefined || this.how !== '') throw new Error(`The program does not run (${this.how}).`);
    const error = await new Promise<Error | null | undefined>((resolve) => {
      child.stdin.write(this.sdk.serializeMessage(message), resolve);
    });
    if (!error) return;
    // A broken pipe is told before the end of the program that broke it, which says more.
    await within(this.finished, GRACE_MS);
    throw error;
  }

  /** Ends the program and all that it started; resolves when it is gone. */
  async close(): Promise<void> {
    this.closing ??= this.end();
    await this.closing;
  }

  private async end(): Promise<void> {
    const { child } = this;
    if (child?.pid === undefined) return;
    child.stdin.end();
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (await within(this.exited, GRACE_MS)) return;
      killGroup(child, signal);
    }
    await within(this.exited, GRACE_MS);
  }
}

/** Some failures Node throws here, others it tells by an event. */
function spawned(target: ProcessTarget): Child {
  const { command, args, env, cwd } = target;
  try {
    return spawn(command, [...args], {
      env: { ...env },
      ...(cwd !== undefined && { cwd }),
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    });
  } catch (error) {
    throw notStarted(target, error);
  }
}

/** Node names the program also where it is the folder that is not there. */
function notStarted({ command, cwd }: ProcessTarget, error: unknown): NotStarted {
  const code = codeOf(error);
  if (code === undefined || !FINAL_CODES.has(code)) {
    const why = error instanceof Error ? error.message : String(error);
    return new NotStarted(`its program ${command} cannot be started (${why})`, false);
  }
  const noFolder = cwd !== undefined && !existsSync(`${cwd}/.`);
  const what = noFolder ? `the folder ${cwd} (cwd)` : `the program ${command}`;
  const why = code === 'EACCES' ? 'may not be used by this worker' : 'is not there on this worker';
  const advice = noFolder ? 'correct cwd' : 'install it, or correct command';
  return new NotStarted(`${what} ${why} (${code}); ${advice}`, true);
}

/** Whether `work` is done within so many milliseconds. */
async function within(work: Promise<void>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
