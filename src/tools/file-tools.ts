/** All tools for the files of a workspace. */
import type { ToolDefinition } from '../agents/define-tool.js';
import { editFile } from './edit-file.js';
import type { FileToolOptions } from './file-tool-options.js';
import { listFiles } from './list-files.js';
import { readFile } from './read-file.js';
import { searchFiles } from './search-files.js';
import { writeFile } from './write-file.js';

/** `list_files`, `read_file`, `write_file`, `edit_file` and `search_files`, in one folder that they cannot leave. */
export function fileTools(options: FileToolOptions = {}): readonly ToolDefinition[] {
  return [listFiles, readFile, writeFile, editFile, searchFiles].map((tool) => tool(options));
}
