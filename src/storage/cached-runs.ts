/** How many runs a worker keeps in memory, by the memory that it has. A run that is not kept is replayed when it goes on. */
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';

const MB = 1024 * 1024;
/** What a worker needs beside its runs: the SDK, the bundle, the cache of conversations, activities at work. */
const BESIDE_MB = 300;
/** For one run: some 0.4 MB with a conversation of 75 KB (bench/README.md), several times as much with a long one. */
const RUN_MB = 2;
const LEAST = 20;

/** Bytes that the process may use: of its heap, its container, or three quarters of the machine, whichever is least. */
function memoryLimit(): number {
  const container = process.constrainedMemory();
  // 0, or more than any machine has, where there is no container.
  const machine = totalmem() * 0.75;
  const constrained = container > 0 && container < totalmem() ? container * 0.75 : machine;
  return Math.min(getHeapStatistics().heap_size_limit, constrained);
}

/** For Temporal's `maxCachedWorkflows`. */
export function cachedRuns(limit: number = memoryLimit()): number {
  return Math.max(LEAST, Math.floor((limit / MB - BESIDE_MB) / RUN_MB));
}
