/** The paths that a model may write: relative, downwards, with "/". Pure; whether anything is there is `workspace.ts`. */
import { ToolError } from '../agents/tool-error.js';
import { cut } from '../conversation/cut-text.js';

/** Linux's bounds, in bytes. */
const MAX_NAME_BYTES = 255;
const MAX_PATH_BYTES = 4_096;

/**
 * The names on the way from the workspace folder to `path`; none for the folder itself (`''`, `.`, `./`).
 * @throws ToolError for a path that could lead outside, or that no file system takes.
 */
export function pathNames(path: string): readonly string[] {
  const shown = shownPath(path);
  if (path.includes('\0')) throw new ToolError(`The path ${shown} contains a NUL character; no file has such a name.`);
  if (/\p{Cs}/u.test(path)) throw new ToolError(`The path ${shown} contains half of a character; write the name anew.`);
  if (path.includes('\\')) {
    throw new ToolError(`The path ${shown} contains a backslash; write "/" between folders.`);
  }
  if (path.startsWith('/') || /^[a-z]:/i.test(path)) {
    throw new ToolError(`The path ${shown} is absolute; name it from the workspace folder down, such as "src/a.txt".`);
  }
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  if (names.includes('..')) {
    throw new ToolError(
      `The path ${shown} contains ".."; name it from the workspace folder down, such as "src/a.txt".`,
    );
  }
  if (bytes(path) >= MAX_PATH_BYTES || names.some((name) => bytes(name) > MAX_NAME_BYTES)) {
    throw new ToolError(
      `The path ${shown} is too long: a name may have ${MAX_NAME_BYTES} bytes, a path ${MAX_PATH_BYTES - 1}.`,
    );
  }
  return names;
}

/** {@link pathNames} for a file: at least one name, and no sign that a folder is meant. */
export function fileNames(path: string): { readonly folder: readonly string[]; readonly name: string } {
  const names = pathNames(path);
  const name = names.at(-1);
  if (name === undefined || /(^|\/)\.?$/.test(path)) {
    throw new ToolError(`The path ${shownPath(path)} names a folder; a file is needed here.`);
  }
  return { folder: names.slice(0, -1), name };
}

/** A path as it stands in a sentence: quoted, cut, on one line. */
export function shownPath(path: string): string {
  return JSON.stringify(path.length > 200 ? `${cut(path, 200)}…` : path);
}

function bytes(text: string): number {
  return Buffer.byteLength(text);
}
