/** One Temporal dev server for all test files that need one and do not mean to harm it. */
import type { TestProject } from 'vitest/node';
import { startDevServer } from '../../src/dev/dev-server.js';

declare module 'vitest' {
  export interface ProvidedContext {
    temporalAddress: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startDevServer({});
  project.provide('temporalAddress', server.address);
  return () => server.stop();
}
