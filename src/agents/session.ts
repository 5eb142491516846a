/** Sessions: runs that stay open after an answer, for what people say next. Plain checks; knows nothing of the run. */
import { DefinitionError, onlyFields, type Fields } from './definition-error.js';
import { toMs, type Duration } from './duration.js';
import { limitOptions, parseLimits, type LimitOptions, type Limits } from './limits.js';

export interface SessionOptions {
  /** How long the run waits for the next message before it ends. Default 1 hour. */
  readonly idleTimeout?: Duration;
  /** For each message; the agent's own limits are for the whole run. A message that reaches one ends without an answer. */
  readonly limits?: LimitOptions;
}

export interface SessionSpec {
  readonly idleTimeoutMs: number;
  readonly limits: Limits;
}

const DEFAULT_IDLE_TIMEOUT: Duration = '1 hour';
const FIELDS: Fields<SessionOptions> = { idleTimeout: true, limits: true };

/** @throws DefinitionError naming the field. */
export function sessionSpec(where: string, session: SessionOptions): SessionSpec {
  if (typeof session !== 'object' || session === null || Array.isArray(session)) {
    throw new DefinitionError(`${where}: session must be an object such as { idleTimeout: "30 minutes" }.`);
  }
  onlyFields(`${where}: session`, session, FIELDS);
  return {
    idleTimeoutMs: toMs(`${where}: session.idleTimeout`, session.idleTimeout ?? DEFAULT_IDLE_TIMEOUT),
    limits: parseLimits(`${where}: session`, session.limits ?? {}),
  };
}

/** As people write it. */
export function sessionOptions({ idleTimeoutMs, limits }: SessionSpec): SessionOptions {
  return { idleTimeout: idleTimeoutMs, limits: limitOptions(limits) };
}
