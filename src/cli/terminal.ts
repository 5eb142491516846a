/** Lines that a person types, or that come through a pipe: one at a time, when they are asked for. Knows nothing of runs. */
import { createInterface, type Interface } from 'node:readline';
import { print } from './output.js';

/** Whether somebody sits there who can be asked. */
export function isAttended(): boolean {
  return process.stdin.isTTY === true && process.stdout.isTTY === true;
}

export class Terminal {
  private readonly input: Interface;
  /** Typed before anybody asked. */
  private readonly lines: string[] = [];
  private waiting: ((line: string | null) => void) | null = null;
  private closed = false;

  constructor() {
    const terminal = isAttended();
    this.input = createInterface({
      input: process.stdin,
      ...(terminal && { output: process.stdout }),
      terminal,
      prompt: '',
    });
    this.input.on('line', (line) => {
      if (this.waiting) this.settle(line);
      else this.lines.push(line);
    });
    this.input.on('close', () => {
      this.closed = true;
      this.settle(null);
    });
    // In raw mode Ctrl-C is a key: whoever listens for the signal is to hear it.
    this.input.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  }

  /**
   * The next line; null where there is no more, or the signal aborts.
   * @param unseen what was typed before is no answer to this question, and stays for the next.
   */
  async ask(question: string, signal?: AbortSignal, unseen = false): Promise<string | null> {
    const early = unseen ? undefined : this.lines.shift();
    if (early !== undefined) return early;
    if (this.closed || signal?.aborted) return null;
    this.input.setPrompt(question);
    if (isAttended()) this.input.prompt();
    const withdraw = (): void => {
      if (isAttended()) print('\n');
      this.settle(null);
    };
    signal?.addEventListener('abort', withdraw, { once: true });
    try {
      return await new Promise((resolve) => (this.waiting = resolve));
    } finally {
      signal?.removeEventListener('abort', withdraw);
      this.input.setPrompt('');
    }
  }

  /** Whether someone is asked right now. */
  get isAsking(): boolean {
    return this.waiting !== null;
  }

  /** Shows the question again, with what was typed so far: something else was written meanwhile. */
  again(): void {
    if (this.isAsking && isAttended()) this.input.prompt(true);
  }

  close(): void {
    this.input.close();
  }

  private settle(line: string | null): void {
    const { waiting } = this;
    this.waiting = null;
    waiting?.(line);
  }
}
