/**
 * The agent runs of a team's own workflow: one at a time, as each takes over the workflow's signals, updates and queries;
 * and each with a name of its own, as the keys of its tool calls would else be those of another.
 */
import { CancellationScope } from '@temporalio/workflow';

interface Runs {
  readonly names: Set<string>;
  open: boolean;
}

/** By the workflow's root scope: modules are shared by the workflows of a worker. */
const runsOf = new WeakMap<CancellationScope, Runs>();

const NAME = /^[\w.-]{1,64}$/;

/**
 * Begins a run in this workflow; returns how to end it.
 * @throws Error, which is the workflow code's to mend: it fails the workflow task, not the workflow.
 */
export function beginWithin(id: string | undefined): () => void {
  if (id !== undefined && !NAME.test(id)) {
    throw new Error(`runAgent: an id is 1 to 64 letters, digits, "_", "." and "-"; this is ${JSON.stringify(id)}.`);
  }
  const root = rootScope();
  const runs = runsOf.get(root) ?? { names: new Set(), open: false };
  runsOf.set(root, runs);
  if (runs.open) {
    throw new Error(
      'runAgent: this workflow is running an agent already, which has its signals, updates and queries. Await that one, or ' +
        'start each as a child workflow (agentRun).',
    );
  }
  const name = id ?? '';
  if (runs.names.has(name)) {
    throw new Error(
      `runAgent: this workflow has run an agent ${id === undefined ? 'without an id' : `of the id ${id}`} already; give each ` +
        'an id of its own, so that their tool calls have different idempotency keys.',
    );
  }
  runs.names.add(name);
  runs.open = true;
  return () => {
    runs.open = false;
  };
}

function rootScope(): CancellationScope {
  let scope = CancellationScope.current();
  while (scope.parent !== undefined) scope = scope.parent;
  return scope;
}
