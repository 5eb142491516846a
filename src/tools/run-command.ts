/** `run_command`: a shell command in the workspace. */
import { stripVTControlCharacters } from 'node:util';
import { z } from 'zod';
import { defineTool, type ToolDefinition } from '../agents/define-tool.js';
import { onlyFields, type Fields } from '../agents/definition-error.js';
import { toMs, type Duration } from '../agents/duration.js';
import { ToolError } from '../agents/tool-error.js';
import { codeOf } from './workspace.js';
import { inWorkspace, type FileToolOptions } from './file-tool-options.js';
import { MAX_PROCESSES, runProcess, type ProcessEnd } from './run-process.js';

export interface RunCommandOptions extends FileToolOptions {
  /** Default `always`: a command can do whatever the worker's user can; the folder is only where it starts. */
  readonly approval?: 'always' | 'never' | ((args: RunCommandArgs) => boolean | Promise<boolean>);
  /** The longest that a command may take. Default 2 minutes. */
  readonly timeout?: Duration;
  /**
   * Names of further environment variables of the worker that commands get. By default they get what programs need
   * to run and nothing that could be a secret.
   */
  readonly environment?: readonly string[];
}

export interface RunCommandArgs {
  readonly command: string;
  readonly timeout_seconds?: number | undefined;
}

const FIELDS: Fields<RunCommandOptions> = { folder: true, approval: true, timeout: true, environment: true };
const PASSED_ON = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'TMPDIR'];
/** Nobody sits there to page, to colour for, or to answer. */
const UNATTENDED = { TERM: 'dumb', NO_COLOR: '1', PAGER: 'cat', GIT_PAGER: 'cat', GIT_TERMINAL_PROMPT: '0' };

const MAX_CHARS = 15_000;
/** For ending the command and handing on its output, before Temporal's own time limit. */
const MARGIN_MS = 15_000;

/** Runs once: Temporal never tries it again by itself. Its exit code is part of the result, not an error. */
export function runCommand(options: RunCommandOptions = {}): ToolDefinition {
  onlyFields('Tool run_command', options, FIELDS);
  const limitMs = toMs('Tool run_command: timeout', options.timeout ?? '2 minutes');
  return defineTool({
    name: 'run_command',
    description:
      'Run a shell command (sh) in the workspace folder. You get its output, stdout and stderr together, and its exit code. ' +
      'There is no terminal and no input. What it leaves running in the background ends with it.',
    input: z.object({
      command: z.string().min(1).describe('The command, as one would type it.'),
      timeout_seconds: z
        .number()
        .positive()
        .optional()
        .describe(`After this long it is ended. Default, and the most: ${limitMs / 1000}.`),
    }),
    effects: 'once',
    concurrency: 'serial',
    approval: options.approval ?? 'always',
    timeout: limitMs + MARGIN_MS,
    execute: ({ command, timeout_seconds: seconds = Infinity }, context) => {
      if (command.includes('\0')) throw new ToolError('The command contains a NUL character; no shell takes one.');
      const timeoutMs = Math.min(Math.ceil(seconds * 1000), limitMs);
      return inWorkspace(options, context, async (workspace) => {
        const run = {
          command,
          cwd: workspace.root.path,
          env: environment(options.environment ?? []),
          timeoutMs,
          maxChars: MAX_CHARS,
          signal: context.signal,
        };
        try {
          return endText(await runProcess(run), timeoutMs);
        } catch (error) {
          if (codeOf(error) !== 'E2BIG') throw error;
          throw new ToolError('The command is too long. Write a script with write_file and run that.');
        }
      });
    },
  });
}

function environment(further: readonly string[]): Record<string, string> {
  const passedOn = [...PASSED_ON, ...further].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...UNATTENDED, ...Object.fromEntries(passedOn) };
}

function endText({ output, exitCode, signalName, ended }: ProcessEnd, timeoutMs: number): string {
  const text = stripVTControlCharacters(output).trimEnd();
  const how = exitCode === null ? `It was ended by ${signalName}.` : `Exit code ${exitCode}.`;
  const end = {
    time: `It was ended after ${timeoutMs / 1000} seconds, its time limit.`,
    processes: `It was ended since it had more than ${MAX_PROCESSES} processes at once.`,
  };
  const last = ended === undefined ? how : end[ended];
  return text === '' ? `[No output. ${last}]` : `${text}\n[${last}]`;
}
