/**
 * What the demo's script gathers from a conversation: the results of its tools, read by their text alone. The tools
 * may write their lists in any common form; what is not understood is left out, never made up.
 */
import { cut } from '../conversation/cut-text.js';
import { isJsonObject } from '../conversation/json.js';
import { jsonOf } from './http.js';
import { textOf, type WireMessage } from './request.js';

export interface ToolResult {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly text: string;
}

export interface Hit {
  readonly path: string;
  readonly line: number;
}

/** Every call with its result, in order. Calls without result are left out. */
export function toolResults(messages: readonly WireMessage[]): ToolResult[] {
  const texts = new Map(messages.filter((m) => m.role === 'tool').map((m) => [m.tool_call_id, textOf(m)]));
  return messages.flatMap((message) =>
    (message.tool_calls ?? []).flatMap((call) => {
      const text = texts.get(call.id);
      const args = jsonOf(call.function?.arguments ?? '');
      if (text === undefined || !call.function) return [];
      return [{ name: call.function.name, args: isJsonObject(args) ? args : {}, text }];
    }),
  );
}

/** The folders at the top of a listing, from lines like `src/`, `- src/index.ts`, `"src/",`. */
export function foldersIn(listing: string): string[] {
  const names = listing.split('\n').flatMap((line) => /^[\s"'*-]*(?:\.\/)?([\w.@+-]+)\//.exec(line)?.[1] ?? []);
  return [...new Set(names)].filter((name) => name !== '.' && name !== '..');
}

/** The first Markdown heading, also where the tool puts numbers before the lines. */
export function headingIn(file: string): string | null {
  const heading = /^\s*(?:\d+\s*[:|\t→]?\s*)?#{1,6} +(\S.*?)\s*$/m.exec(file)?.[1];
  return heading === undefined ? null : cut(heading, 200);
}

/** Of a package.json: its name and how many dependencies it has; null where there is none to be seen. */
export function packageIn(file: string): { readonly name: string | null; readonly dependencies: number | null } {
  const block = /"dependencies"\s*:\s*\{([^}]*)\}/.exec(file)?.[1];
  return {
    name: /"name"\s*:\s*"([^"]+)"/.exec(file)?.[1] ?? null,
    dependencies: block === undefined ? null : (block.match(/"[^"]+"\s*:\s*"/g) ?? []).length,
  };
}

/** Of lines like `src/a.ts:12: text`, and of lines like `  12:text` below a line with the file's path. */
export function hitsIn(found: string): Hit[] {
  let file = '';
  return found.split('\n').flatMap((line) => {
    const below = /^\s+(\d+):/.exec(line)?.[1];
    if (below !== undefined) return file === '' ? [] : [{ path: file, line: Number(below) }];
    const match = /^\s*(?:\.\/)?([^\s:][^:\n]*?):(\d+)(?=[:\s-]|$)/.exec(line);
    if (match?.[1] && match[2]) return [{ path: match[1], line: Number(match[2]) }];
    file = line.trim();
    return [];
  });
}
