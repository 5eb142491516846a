/** Keeps what was given to a server as a secret out of results, errors and logs: servers quote it back. */

const LOOKS_SECRET = /key|token|secret|passw|credential|auth|cookie|private/i;
/** Shorter values (`1`, `true`) would blot out half of a text. */
const MIN_LENGTH = 6;

/** Values once given stay secret, also after a key has changed. */
export class Secrets {
  private readonly values = new Set<string>();

  /** All headers: each of them may be a key. */
  addHeaders(headers: Readonly<Record<string, string>>): void {
    for (const value of Object.values(headers)) {
      this.add(value);
      this.add(value.replace(/^\S+\s+/, ''));
    }
  }

  /** Variables whose names say so. */
  addEnvironment(env: Readonly<Record<string, string>>): void {
    for (const [name, value] of Object.entries(env)) if (LOOKS_SECRET.test(name)) this.add(value);
  }

  /** Of a URL: parameters whose names say so. */
  addUrl(url: URL): void {
    for (const [name, value] of url.searchParams) if (LOOKS_SECRET.test(name)) this.add(value);
  }

  /** `--api-key=…` and `--api-key …`. */
  addArguments(args: readonly string[]): void {
    for (const [index, arg] of args.entries()) {
      const [, name = '', value = args[index + 1] ?? ''] = /^--?([\w-]+)(?:=(.*))?$/s.exec(arg) ?? [];
      if (LOOKS_SECRET.test(name) && !value.startsWith('-')) this.add(value);
    }
  }

  private add(value: string): void {
    if (value.length >= MIN_LENGTH) this.values.add(value);
  }

  hide(text: string): string {
    let clean = text;
    for (const value of this.values) clean = clean.replaceAll(value, '[secret]');
    return clean;
  }
}
