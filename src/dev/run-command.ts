// Runs one short command to its end, bounded in time and output. Knows nothing of what it runs.
import { execFile } from 'node:child_process';

export interface CommandOptions {
  /** The command is killed after so many milliseconds. */
  timeoutMs: number;
  cwd?: string;
  env?: NodeJS.ProcessEnv;
}

/**
 * Resolves with the trimmed standard output.
 * @throws an Error whose message is a sentence: not found, timed out, or exited with the end of what it printed.
 */
export function runCommand(file: string, args: readonly string[], options: CommandOptions): Promise<string> {
  const { timeoutMs, cwd, env } = options;
  return new Promise((resolve, reject) => {
    execFile(
      file,
      args,
      { timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: 16 << 20, encoding: 'utf8', cwd, env, windowsHide: true },
      (error, stdout, stderr) => {
        if (error === null) return resolve(stdout.trim());
        if (error.code === 'ENOENT') return reject(new Error(`\`${file}\` was not found`, { cause: error }));
        if (error.killed === true) {
          return reject(new Error(`\`${file}\` did not end within ${timeoutMs / 1000} s`, { cause: error }));
        }
        const how =
          typeof error.code === 'number'
            ? `ended with exit code ${error.code}`
            : `failed (${String(error.code ?? error.signal)})`;
        const said = lastLines(stderr.trim() === '' ? stdout : stderr);
        reject(new Error(`\`${file}\` ${how}${said === '' ? '' : `: ${said}`}`, { cause: error }));
      },
    );
  });
}

function lastLines(text: string): string {
  return text.trim().split('\n').slice(-3).join(' ').slice(-500);
}
