/** Ids of tool calls in the format that a server takes. Pure; the same conversation always gets the same ids. */
import { shortHash } from '../conversation/short-hash.js';
import type { Traits } from './traits.js';

const FITS: Readonly<Record<Traits['toolCallId'], RegExp>> = {
  any: /^[\s\S]+$/,
  max40: /^[\s\S]{1,40}$/,
  safe64: /^[a-zA-Z0-9_-]{1,64}$/,
  alnum9: /^[a-zA-Z0-9]{9}$/,
};

/** Writes ids: each call of it must name a call of the conversation, in order, before its result is named. */
export function idWriter(format: Traits['toolCallId']): (id: string) => string {
  const written = new Map<string, string>();
  const used = new Set<string>();
  return (id) => {
    let own = written.get(id);
    if (own === undefined) {
      own = id;
      // Also where another id has been turned into this one.
      for (let n = 0; !FITS[format].test(own) || used.has(own); n += 1) own = shortHash(`${id}#${n}`).slice(0, 9);
      written.set(id, own);
      used.add(own);
    }
    return own;
  };
}
