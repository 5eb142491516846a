/** Built-in tools (`everlap/tools`): for the worker's side, since they use files, processes and the network. */
export { editFile } from './edit-file.js';
export { fetchUrl, type FetchUrlOptions } from './fetch-url.js';
export type { FileToolOptions } from './file-tool-options.js';
export { fileTools } from './file-tools.js';
export { finishTool, type FinishToolOptions } from './finish.js';
export { listFiles } from './list-files.js';
export { readFile } from './read-file.js';
export { runCommand, type RunCommandArgs, type RunCommandOptions } from './run-command.js';
export { searchFiles } from './search-files.js';
export { writeFile } from './write-file.js';
