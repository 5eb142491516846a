/** Says beforehand what would else be seen only when the first model call fails. Reads the environment, shows no secret. */
import type { ConfigOptions } from '../agents/define-config.js';
import { chatTarget } from '../models/chat-target.js';

/** A sentence where the default provider cannot be asked; undefined where it can, or where the config has its own. */
export function apiKeyNote(config: ConfigOptions): string | undefined {
  if (config.provider !== undefined) return undefined;
  const target = chatTarget({}, process.env, 'any');
  if (!('sentence' in target)) return undefined;
  return (
    `Model calls will fail (${target.failureClass}) until OPENAI_API_KEY is set where the worker runs, or OPENAI_BASE_URL ` +
    "for a server that wants no key; to try without, use `npm run demo` in Everlap's repository."
  );
}
