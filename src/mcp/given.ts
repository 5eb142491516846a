/**
 * What a server's definition gives for it: its environment, headers and token. They may be functions, which are the user's
 * own code, so they are bounded in time, and what they give is checked. No value is ever told.
 */
import { z } from 'zod';

/** Nothing was sent. */
export class NotGiven extends Error {
  override readonly name = 'NotGiven';
}

export interface Form<T> {
  readonly schema: z.ZodType<T>;
  readonly words: string;
}
export const TEXTS: Form<Record<string, string>> = {
  schema: z.record(z.string(), z.string()),
  words: 'an object of texts',
};
export const TOKEN: Form<string> = { schema: z.string().min(1), words: 'a text' };

export interface Asking<T> {
  /** Of the definition's field, for sentences: `env`. */
  readonly what: string;
  readonly form: Form<T>;
  readonly timeoutMs: number;
}

/** @throws NotGiven with a sentence. */
export async function askFor<T>(given: T | (() => T | Promise<T>), { what, form, timeoutMs }: Asking<T>): Promise<T> {
  let value: unknown = given;
  if (given instanceof Function) {
    const late = Symbol('late');
    let timer: NodeJS.Timeout | undefined;
    try {
      value = await Promise.race([
        given(),
        new Promise((resolve) => {
          timer = setTimeout(resolve, timeoutMs, late);
        }),
      ]);
    } catch (error) {
      throw new NotGiven(`its function ${what} failed`, { cause: error });
    } finally {
      clearTimeout(timer);
    }
    if (value === late) throw new NotGiven(`its function ${what} gave nothing within ${timeoutMs / 1000} seconds`);
  }
  const checked = form.schema.safeParse(value);
  if (checked.success) return checked.data;
  const whose = given instanceof Function ? `its function ${what} gave` : `its ${what} is`;
  throw new NotGiven(`${whose} something that is not ${form.words}`);
}
