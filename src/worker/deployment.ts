/** The version of a worker, for Temporal's worker versioning. Knows nothing of agents. */
import type { VersioningBehavior, WorkerDeploymentVersion } from '@temporalio/common';
import type { WorkerDeploymentOptions } from '@temporalio/worker';
import { DefinitionError, shown } from '../agents/definition-error.js';

/** Runs keep to workers of the version that they began with. */
export interface DeploymentOptions extends WorkerDeploymentVersion {
  /**
   * `PINNED` (default): a run moves to the current version by continue-as-new, between two turns or laps, and its history
   * is never replayed by another one. `AUTO_UPGRADE`: it moves with its next task, and its history is replayed.
   */
  readonly behavior?: VersioningBehavior;
}

/** What the server takes as a deployment's name; it lets workers poll under any other, and never gives them work. */
const NAME = /^(?!__)[^.:]+$/;

/** @throws DefinitionError for a version that no server could make the current one. */
export function deploymentOptions({ behavior = 'PINNED', ...version }: DeploymentOptions): WorkerDeploymentOptions {
  const { deploymentName, buildId } = version;
  if (!NAME.test(deploymentName)) {
    throw new DefinitionError(
      `The deployment's name is ${shown(deploymentName)}; it must be a text without "." and ":" that does not begin with "__".`,
    );
  }
  if (buildId === '')
    throw new DefinitionError(`The deployment ${deploymentName} has no build id: give its workers one.`);
  return { version, useWorkerVersioning: true, defaultVersioningBehavior: behavior };
}
