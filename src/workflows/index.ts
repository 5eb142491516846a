/**
 * `everlap/workflows`: what goes into a workflow bundle. `export * from 'everlap/workflows'` in a file of your own
 * registers `agentRun` beside your workflows. Pulls in no Node module; a test bundles it and proves so.
 */
export { agentRun, runAgent, type RunAgentInput } from './agent-run.js';
export * from './messages.js';
