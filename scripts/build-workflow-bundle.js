// Bundles the workflows once, when the package is built, so that a worker starts without webpack.
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn: console.warn, error: console.error };

const { code } = await bundleWorkflowCode({ workflowsPath: path('../dist/workflows/index.js'), logger: quiet });
await writeFile(path('../dist/workflow-bundle.js'), code);
