/** The options that all commands have, and the ones that several have. Reads and checks; connects to nothing. */
import { Command, InvalidArgumentError } from 'commander';
import { DefinitionError } from '../agents/definition-error.js';
import { parseLimits, type LimitOptions } from '../agents/limits.js';
import { CliError } from './cli-error.js';

export interface CommonFlags {
  readonly config?: string;
  readonly address?: string;
  readonly namespace?: string;
  readonly taskQueue?: string;
}

/** A command with the options that all of them have. */
export function command(nameAndArguments: string, description: string): Command {
  return new Command(nameAndArguments)
    .description(description)
    .option('--config <file>', 'the config with the agents (default: everlap.config.ts, .js or .mjs in this folder)')
    .option(
      '--address <host:port>',
      'the Temporal server (default: TEMPORAL_ADDRESS or its profile, else 127.0.0.1:7233)',
    )
    .option('--namespace <name>', 'its namespace (default: TEMPORAL_NAMESPACE or the profile, else default)')
    .option('--task-queue <name>', 'where the workers poll (default: the config’s, else everlap)');
}

export interface LimitFlags {
  readonly turns?: number;
  readonly tokens?: number;
  readonly usd?: number;
  readonly duration?: string;
  readonly toolCalls?: number;
}

export function withLimitOptions(to: Command): Command {
  return to
    .option('--turns <n>', 'answered model calls, over all laps', aNumber)
    .option('--tokens <n>', 'input and output tokens together', aNumber)
    .option('--usd <n>', 'US dollars', aNumber)
    .option('--duration <d>', 'from the start of the run, such as "2 hours"')
    .option('--tool-calls <n>', 'tool calls that were run', aNumber);
}

/** The limits that were given, checked; undefined where none was. @throws CliError for one that cannot be. */
export function limitsOf({ turns, tokens, usd, duration, toolCalls }: LimitFlags): LimitOptions | undefined {
  const given = Object.entries({ turns, tokens, usd, duration, toolCalls }).filter(([, limit]) => limit !== undefined);
  if (given.length === 0) return undefined;
  const limits = Object.fromEntries(given) as LimitOptions;
  try {
    parseLimits('This command', limits);
  } catch (error) {
    throw error instanceof DefinitionError ? new CliError(error.message) : error;
  }
  return limits;
}

function aNumber(text: string): number {
  const number = Number(text);
  if (text.trim() === '' || !Number.isFinite(number)) throw new InvalidArgumentError('It must be a number.');
  return number;
}

/** 0: a free one. */
export function aPort(text: string): number {
  const port = aNumber(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new InvalidArgumentError('A port is 0 to 65535.');
  return port;
}

export function atLeastOne(text: string): number {
  const number = aNumber(text);
  if (!Number.isSafeInteger(number) || number < 1)
    throw new InvalidArgumentError('It must be a whole number from 1 on.');
  return number;
}

/** The options that were given, for a command to type. */
export function optionsText({ address, namespace }: CommonFlags): string {
  return [
    ...(address === undefined ? [] : [` --address ${quoted(address)}`]),
    ...(namespace === undefined ? [] : [` --namespace ${quoted(namespace)}`]),
  ].join('');
}

/** For a POSIX shell. */
export function quoted(word: string): string {
  return /^[\w.:@/-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
