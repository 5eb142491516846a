/** What the file tools have in common: the folder that they work in. */
import { resolve } from 'node:path';
import { onlyFields, type Fields } from '../agents/definition-error.js';
import type { ToolContext } from '../agents/define-tool.js';
import { withWorkspace, type Workspace } from './workspace.js';

export interface FileToolOptions {
  /** The folder that the tools cannot leave, relative to the worker's working directory. Default: the run's workspace. */
  readonly folder?: string;
}

const FIELDS: Fields<FileToolOptions> = { folder: true };

/** @throws DefinitionError for a field that there is not. */
export function checkFileOptions(tool: string, options: FileToolOptions): void {
  onlyFields(`Tool ${tool}`, options, FIELDS);
}

export function inWorkspace<T>(
  options: FileToolOptions,
  context: ToolContext,
  use: (workspace: Workspace) => Promise<T>,
): Promise<T> {
  return withWorkspace(options.folder === undefined ? context.workspace : resolve(options.folder), use);
}

export const PATH_HELP = 'Relative to the workspace folder, with "/" between folders.';
