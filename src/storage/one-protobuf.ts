/**
 * External storage works only where all of Temporal's packages share one copy of protobufjs: a message type of one copy is
 * none to another ("type must be a Type"). Found out when a worker is made, rather than in a run.
 */
import { createRequire } from 'node:module';

/** @throws Error, one sentence on what to do, where the copies differ. */
export function checkOneProtobuf(resolveFrom: (pkg: string) => string = protobufOf): void {
  const copies = new Set(['@temporalio/common', '@temporalio/proto', '@temporalio/worker'].map(resolveFrom));
  if (copies.size <= 1) return;
  throw new Error(
    `External storage needs one copy of protobufjs, and there are ${copies.size} (${[...copies].join(', ')}): ` +
      "add protobufjs to your dependencies at the version that @temporalio/proto asks for, and run 'npm dedupe'.",
  );
}

/** The file of protobufjs that a package of Temporal's gets. */
function protobufOf(pkg: string): string {
  const everlap = createRequire(import.meta.url);
  // proto is no dependency of ours; the worker's is the one that counts.
  const from = pkg === '@temporalio/proto' ? createRequire(everlap.resolve('@temporalio/worker')) : everlap;
  return createRequire(from.resolve(pkg)).resolve('protobufjs');
}
