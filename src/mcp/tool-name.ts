/** What a server's tool is called for a model, which takes 1 to 64 letters, digits, `_` and `-` only. Pure. */
import { shortHash } from '../conversation/short-hash.js';

const MAX_NAME = 64;
const HASH_CHARS = 8;

/** How many of a server's tools have the same name for a model, before any of them is told apart. */
export type NameCounts = ReadonlyMap<string, number>;

export function nameCounts(tools: Iterable<string>): NameCounts {
  const counts = new Map<string, number>();
  for (const tool of new Set(tools)) counts.set(plain(tool), (counts.get(plain(tool)) ?? 0) + 1);
  return counts;
}

/**
 * `files__read`. Other characters become `_`; a name that is too long is cut, and ends in a hash of the whole, so that two
 * long names stay two. So does, of tools whose names would be the same, each that had other characters.
 */
export function mcpToolName(server: string, tool: string, counts: NameCounts = new Map()): string {
  const own = plain(tool);
  const name = `${server}__${own}`;
  const isShared = own !== tool && (counts.get(own) ?? 0) > 1;
  if (name.length <= MAX_NAME && !isShared) return name;
  const hash = shortHash(`${server}\n${tool}`).slice(0, HASH_CHARS);
  return `${name.slice(0, MAX_NAME - HASH_CHARS - 1)}_${hash}`;
}

function plain(tool: string): string {
  return tool.replace(/[^a-zA-Z0-9_-]/g, '_');
}
