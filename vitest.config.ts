import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    // Bounds for what hangs, not for what is slow: nothing here measures time.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Each file has workers and servers of its own; two cores take two of them at a time.
    maxWorkers: 2,
  },
});
