/**
 * Standard output and standard error of the command. What a command was asked for goes to standard output; notes and
 * errors go to standard error, so that a pipe gets nothing else. Knows nothing of runs.
 */
import { styleText } from 'node:util';
import { oneLine as oneLineOf } from '../conversation/cut-text.js';
import { EXIT } from './exit-codes.js';

/** One at a time: Node 20 heeds the stream only then. */
type Format = Exclude<Parameters<typeof styleText>[0], readonly unknown[]>;

/** Styled where `stream` is a terminal that wants colours (NO_COLOR and FORCE_COLOR are heard). */
export function styled(format: Format, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  return styleText(format, text, { stream });
}

export function print(text: string): void {
  process.stdout.write(text);
}

export function printLine(line = ''): void {
  print(`${line}\n`);
}

/** One JSON value on one line. */
export function printJson(value: unknown): void {
  printLine(JSON.stringify(value));
}

/** To standard error. */
export function note(line: string): void {
  process.stderr.write(`${line}\n`);
}

/**
 * Texts of models and tools must not steer the terminal: control characters become visible. Line ends and tabs stay.
 */
export function printable(text: string): string {
  // eslint-disable-next-line no-control-regex -- these are what is looked for
  return text.replace(/\r\n?/g, '\n').replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g, '�');
}

/** {@link printable}, in one line of at most `max` characters. */
export function oneLine(text: string, max: number): string {
  return oneLineOf(printable(text), max);
}

/** A reader that goes away (`everlap list | head -1`) ends the command without a word; a run goes on in its worker. */
export function endQuietlyOnBrokenPipe(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.brokenPipe);
    note(`everlap: Standard output cannot be written (${error.message}).`);
    process.exit(EXIT.failed);
  });
  // There is nowhere left to say it.
  process.stderr.on('error', () => process.exit(EXIT.brokenPipe));
}

/** Ends the process once everything is written. A config's open handles (a database pool) must not keep it. */
export async function exitWith(code: number): Promise<never> {
  for (const stream of [process.stdout, process.stderr]) {
    await new Promise<void>((written) => stream.write('', () => written()));
  }
  process.exit(code);
}
