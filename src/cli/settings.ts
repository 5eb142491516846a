/** `--settings JSON` of `everlap run`: what this run has otherwise than its agent. */
import type { LimitOptions } from '../agents/limits.js';
import type { RunSettings } from '../agents/run-input.js';
import { SETTINGS } from '../activities/run-settings.js';
import { CliError } from './cli-error.js';

/** @throws CliError for what is no JSON or no settings: the run would be refused, later. */
export function settingsOf(json: string | undefined, limits: LimitOptions | undefined): RunSettings | undefined {
  const settings = json === undefined ? {} : parse(json);
  if (limits === undefined) return json === undefined ? undefined : settings;
  return { ...settings, limits: { ...settings.limits, ...limits } };
}

function parse(json: string): RunSettings {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CliError(`--settings is no JSON (${why}); write for example '{"model":"gpt-5-mini"}'.`);
  }
  const checked = SETTINGS.safeParse(value);
  if (checked.success) return value as RunSettings;
  const [issue] = checked.error.issues;
  const where = issue === undefined || issue.path.length === 0 ? '' : ` at ${issue.path.join('.')}`;
  throw new CliError(
    `--settings cannot be used${where}: ${issue?.message ?? 'no settings'}; its fields are ${Object.keys(SETTINGS.shape).join(', ')}.`,
  );
}
