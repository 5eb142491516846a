/** Why a connection failed, out of nested errors. Pure. */

/** Codes and messages down the chain of causes, each once, the client's own "Connection error." left out. */
export function causesOf(error: unknown): string[] {
  const reasons = new Set<string>();
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    const code = codeOf(cause);
    if (code !== undefined) reasons.add(code);
    // Several addresses were tried.
    if (cause instanceof AggregateError) for (const inner of cause.errors) reasons.add(codeOf(inner) ?? String(inner));
    else if (cause.message !== '' && cause.message !== 'Connection error.') reasons.add(cause.message);
  }
  return reasons.size > 0 ? [...reasons] : [String(error)];
}

/** Node's fetch gives up after five minutes without headers, or without a byte of the body. */
const SILENCE_CODES: ReadonlySet<string> = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

export function isSilence(reasons: readonly string[]): boolean {
  return reasons.some((reason) => SILENCE_CODES.has(reason));
}

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
