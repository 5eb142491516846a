/** What the parts of an agent's definition may say: model, context, laps, toolResult. Throws; fills nothing in. */
import type { ContextOptions, LapsOptions, ModelOptions, ToolResultOptions } from './define-agent.js';
import { atLeast, DefinitionError, oneOf, onlyFields, shown, type Fields } from './definition-error.js';
import { toMs } from './duration.js';
import { MAX_TURN_CHARS } from './wire.js';

const MODEL: Fields<ModelOptions> = {
  name: true,
  attempts: true,
  timeout: true,
  firstEventTimeout: true,
  idleTimeout: true,
  maxOutputTokens: true,
  parameters: true,
};
const CONTEXT: Fields<ContextOptions> = { window: true, compactAt: true, keepTurns: true, compactModel: true };
const LAPS: Fields<LapsOptions> = { max: true, until: true, handoff: true, maxFailed: true, spec: true };
const UNTIL: Fields<LapsOptions['until']> = { promise: true, verify: true };
const TOOL_RESULT: Fields<ToolResultOptions> = { maxChars: true, readResult: true };

export function checkModel(where: string, model: string | ModelOptions): void {
  const name = typeof model === 'string' ? model : model?.name;
  if (typeof name !== 'string' || name.trim() === '') {
    throw new DefinitionError(`${where}: model must be a model's name, or an object with one.`);
  }
  if (typeof model === 'string') return;
  onlyFields(`${where}: model`, model, MODEL);
  for (const field of ['timeout', 'firstEventTimeout', 'idleTimeout'] as const) {
    const value = model[field];
    if (value !== undefined) toMs(`${where}: model.${field}`, value);
  }
  if (model.attempts !== undefined) atLeast(`${where}: model.attempts`, model.attempts, 1);
  if (model.maxOutputTokens !== undefined) atLeast(`${where}: model.maxOutputTokens`, model.maxOutputTokens, 1);
}

export function checkContext(where: string, context: ContextOptions | undefined): void {
  if (context === undefined) return;
  onlyFields(`${where}: context`, context, CONTEXT);
  if (context.window !== undefined) atLeast(`${where}: context.window`, context.window, 1000);
  if (context.keepTurns !== undefined) atLeast(`${where}: context.keepTurns`, context.keepTurns, 1);
  const share = context.compactAt ?? 1;
  if (!(share > 0 && share <= 1)) {
    throw new DefinitionError(
      `${where}: context.compactAt is ${shown(share)}; it is a share of the window, above 0 and at most 1.`,
    );
  }
}

export function checkLaps(where: string, laps: LapsOptions | undefined): void {
  if (laps === undefined) return;
  onlyFields(`${where}: laps`, laps, LAPS);
  atLeast(`${where}: laps.max`, laps.max, 1);
  if (laps.maxFailed !== undefined) atLeast(`${where}: laps.maxFailed`, laps.maxFailed, 1);
  if (laps.handoff !== undefined) oneOf(`${where}: laps.handoff`, laps.handoff, ['workspace', 'note']);
  if (laps.spec !== undefined) oneOf(`${where}: laps.spec`, laps.spec, ['pinned', 'per-lap']);
  const until: { readonly promise?: string; readonly verify?: string } = laps.until ?? {};
  onlyFields(`${where}: laps.until`, until, UNTIL);
  if (until.promise !== undefined && until.verify !== undefined) {
    throw new DefinitionError(`${where}: laps.until has both a promise and a verify command; give one of them.`);
  }
  const sign = until.promise ?? until.verify;
  if (typeof sign !== 'string' || sign.trim() === '' || (until.promise !== undefined && sign.includes('\n'))) {
    throw new DefinitionError(`${where}: laps.until needs a promise (one line of text) or a verify command.`);
  }
}

export function checkToolResult(where: string, toolResult: ToolResultOptions | undefined): void {
  if (toolResult === undefined) return;
  onlyFields(`${where}: toolResult`, toolResult, TOOL_RESULT);
  const { maxChars } = toolResult;
  if (maxChars === undefined) return;
  atLeast(`${where}: toolResult.maxChars`, maxChars, 200);
  if (maxChars <= MAX_TURN_CHARS) return;
  throw new DefinitionError(`${where}: toolResult.maxChars is ${maxChars}; it may be ${MAX_TURN_CHARS} at most.`);
}
