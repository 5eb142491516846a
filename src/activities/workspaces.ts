/** Where each run's workspace folder is: one folder for all laps and calls of a run, made when first asked for. */
import { createHash } from 'node:crypto';
import { lstat, mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ToolError } from '../agents/tool-error.js';

export const DEFAULT_WORKSPACES = '.everlap/workspaces';

/**
 * Absolute path of the run's folder under `root`; it exists when this resolves.
 * @throws ToolError where a command has put a link in its place: file tools would leave it through that.
 */
export async function openWorkspaceOf(root: string, runId: string): Promise<string> {
  const folder = join(resolve(root), workspaceName(runId));
  await mkdir(folder, { recursive: true });
  if (!(await lstat(folder)).isDirectory()) {
    throw new ToolError(
      'The workspace folder of this run is a link now, so no tool works in it: a person has to remove the link.',
    );
  }
  return folder;
}

/**
 * A folder name for a workflow id, which may hold anything, `..` and `/` included. Different ids never share one, also
 * where the file system takes `A` and `a` for the same.
 */
export function workspaceName(runId: string): string {
  if (/^[a-z0-9][a-z0-9_-]{0,99}$/.test(runId)) return runId;
  const hash = createHash('sha256').update(runId).digest('hex').slice(0, 32);
  return `${runId.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 80)}.${hash}`;
}
