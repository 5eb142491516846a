/** Keeps keys out of failure texts: servers quote them back, some of them whole. Pure. */

const KEY_SHAPES: readonly RegExp[] = [
  /\b[Bb]earer\s+[^\s"',;]+/g,
  // OpenAI and its imitators, Groq, xAI, Hugging Face, Fireworks, GitHub, NVIDIA; stars where the server hid a part.
  /\b(?:sk|gsk|xai|hf|fw|ghp|gho|github_pat|nvapi|csk|pplx|tgp)[-_][A-Za-z0-9*_-]{3,}/g,
  /\bAIza[A-Za-z0-9*_-]{10,}/g,
  /\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)?/g,
];

/** Local servers are given keys like "none": shorter ones are looked for as whole words only. */
const MIN_KEY_LENGTH = 8;

/** Replaces every secret, and everything that looks like a key, by `[key]`. */
export function redact(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret.length >= MIN_KEY_LENGTH) clean = clean.replaceAll(secret, '[key]');
    else if (secret !== '') clean = clean.replace(wholeWord(secret), '[key]');
  }
  for (const shape of KEY_SHAPES) clean = clean.replace(shape, '[key]');
  return clean;
}

function wholeWord(text: string): RegExp {
  return new RegExp(`(?<![A-Za-z0-9])${text.replace(/[^A-Za-z0-9]/g, '\\$&')}(?![A-Za-z0-9])`, 'g');
}
