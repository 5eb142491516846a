// Bundles the workflows once, when the package is built, so that a worker starts without webpack.
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn: console.warn, error: console.error };

const workflowsPath = path('../dist/workflows/index.js');
// Loaded once for all runs of a worker, which keep no module state: a parked run takes a third less memory.
const preloadModules = [path('../dist/workflows/shallow-stacks.js'), workflowsPath];
const { code } = await bundleWorkflowCode({ workflowsPath, logger: quiet, preloadModules });
await writeFile(path('../dist/workflow-bundle.js'), withSlimSourceMap(code));

/** Stack traces need the lines only, not the sources themselves (half of the bundle), nor where this machine keeps them. */
function withSlimSourceMap(code) {
  const prefix = '//# sourceMappingURL=data:application/json;charset=utf-8;base64,';
  const at = code.lastIndexOf(prefix);
  if (at < 0) throw new Error('The workflow bundle has no source map where the SDK used to put it.');
  const { sourcesContent: _, ...map } = JSON.parse(Buffer.from(code.slice(at + prefix.length), 'base64').toString());
  map.sources = map.sources.map((source) => source.replaceAll(path('..'), ''));
  return code.slice(0, at) + prefix + Buffer.from(JSON.stringify(map)).toString('base64');
}
