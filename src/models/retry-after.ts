/** How long a server asks to wait, in milliseconds. Pure. */

export interface HeaderReader {
  get(name: string): string | null;
}

/**
 * `retry-after-ms` (OpenAI, Azure), else `Retry-After` in seconds or as a date (RFC 9110, 10.2.3). Never negative:
 * a date that has passed is 0, the floor is the caller's. undefined where none came or none can be read.
 */
export function retryAfterMs(headers: HeaderReader | undefined, nowMs: number): number | undefined {
  const ms = amount(headers?.get('retry-after-ms'), 1);
  if (ms !== undefined) return ms;
  const header = headers?.get('retry-after');
  const seconds = amount(header, 1000);
  if (seconds !== undefined) return seconds;
  const date = header ? Date.parse(header) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

/** The wait that an error's words ask for, where no header does: "try again in 1m30.5s", or Gemini's retryDelay "37s". */
export function waitInWords(words: string): number | undefined {
  const match = /(?:try again|retry) in\s+((?:\d+(?:\.\d+)?\s*(?:ms|h|m|s)[a-z]*\s*)+)/i.exec(words);
  if (!match?.[1]) return undefined;
  let total = 0;
  for (const [, value, unit] of match[1].matchAll(/(\d+(?:\.\d+)?)\s*(ms|h|m|s)/gi)) {
    total += Number(value) * (UNIT_MS[unit?.toLowerCase() ?? ''] ?? 0);
  }
  return Math.ceil(total);
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

function amount(header: string | null | undefined, unitMs: number): number | undefined {
  if (!header || !/^\s*-?\d+(\.\d+)?\s*$/.test(header)) return undefined;
  const ms = Math.ceil(Number(header) * unitMs);
  return Number.isSafeInteger(ms) ? Math.max(0, ms) : undefined;
}
