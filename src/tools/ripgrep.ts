/** Runs ripgrep in a workspace and hands its output on, record by record. Knows nothing of what is looked for. */
import { spawn } from 'node:child_process';
import type { FileHandle } from 'node:fs/promises';
import { ToolError } from '../agents/tool-error.js';
import { cutText } from '../conversation/cut-text.js';
import type { Workspace } from './workspace.js';
import { pathNames } from './workspace-path.js';

export interface RipgrepRun {
  readonly args: readonly string[];
  /** A folder of the workspace (checked before), or an open file to be read as standard input. */
  readonly searched: string | FileHandle;
  /** Between two records of the output. */
  readonly separator: '\n' | '\0';
  readonly signal: AbortSignal;
  /** Returns false when it has enough: ripgrep is ended then. */
  readonly onRecord: (record: string) => boolean;
}

/**
 * The same everywhere: no settings of the worker's user, links not followed, hidden files shown, and the workspace's
 * own `.gitignore` files, also without a repository. Those above the workspace do not count: it often lies in a
 * folder that is itself ignored. `--sort` makes the output the same each time.
 */
const ALWAYS = [
  '--no-config',
  '--color=never',
  '--no-follow',
  '--hidden',
  '--no-require-git',
  '--no-ignore-parent',
  '--no-ignore-global',
  '--sort=path',
  '--null',
];
/** Kept out behind the user's own globs, since the last one wins. */
const NEVER_SHOWN = ['--glob=!.git', '--glob=!.everlap', '--glob=!.*.everlap-tmp'];

/**
 * @returns a sentence for what could not be read, where there was something.
 * @throws ToolError where ripgrep refuses pattern or glob; the signal's reason where it was aborted.
 */
export async function runRipgrep(workspace: Workspace, run: RipgrepRun): Promise<string | undefined> {
  const { signal, searched } = run;
  signal.throwIfAborted();
  const isFolder = typeof searched === 'string';
  const names = isFolder ? pathNames(searched) : [];
  const ignoreFiles = isFolder && names.length > 0 ? await ignoreFilesAbove(workspace, names) : [];
  const path = isFolder ? ['.', ...names].join('/') : '-';
  const child = spawn(
    await ripgrepPath(),
    [...ALWAYS, ...run.args, ...NEVER_SHOWN, ...ignoreFiles.map((file) => `--ignore-file=${file}`), '--', path],
    {
      cwd: workspace.root.path,
      env: { PATH: process.env['PATH'] },
      stdio: [isFolder ? 'ignore' : searched.fd, 'pipe', 'pipe'],
      signal,
      killSignal: 'SIGKILL',
    },
  );
  let enough = false;
  let rest = '';
  let complaints = '';
  const take = (record: string) => {
    if (enough || record === '') return;
    enough = !run.onRecord(record);
    if (enough) child.kill('SIGKILL');
  };
  child.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
    const records = (rest + chunk).split(run.separator);
    rest = records.pop() ?? '';
    records.forEach(take);
  });
  child.stderr!.setEncoding('utf8').on('data', (chunk: string) => {
    if (complaints.length < 10_000) complaints += chunk;
  });
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.on('error', (error) => {
      if (signal.aborted) return reject(signal.reason as Error);
      reject(
        new Error(`ripgrep could not be started on this worker (${error.message}). Install "rg" or @vscode/ripgrep.`),
      );
    });
    child.on('close', resolve);
  });
  signal.throwIfAborted();
  take(rest);
  if (enough || exitCode === 0 || exitCode === 1) return undefined;
  const complaint = cutText(complaints.replaceAll(/^rg: /gm, '').trim(), 500);
  if (/parse error|parsing glob|not allowed in a regex|exceeds size limit|invalid/i.test(complaint)) {
    throw new ToolError(`The search could not be made. ripgrep says: ${complaint}`);
  }
  return `Not everything could be read: ${complaint || `ripgrep ended with ${exitCode}`}`;
}

/** ripgrep reads ignore files from the searched folder down; these are those between the workspace and that folder. */
async function ignoreFilesAbove(workspace: Workspace, names: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (let depth = 0; depth < names.length; depth += 1) {
    for (const file of ['.gitignore', '.ignore']) {
      const path = [...names.slice(0, depth), file].join('/');
      const there = await workspace.kind(path).catch(() => undefined);
      if (there === 'file') found.push(path);
    }
  }
  return found;
}

/** The binary that comes with npm, else `rg` on PATH (the package has none for every platform). */
async function ripgrepPath(): Promise<string> {
  try {
    return (await import('@vscode/ripgrep')).rgPath;
  } catch {
    return 'rg';
  }
}
