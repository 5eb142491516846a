/** What a server tells while it works goes into the heartbeats of its activity, where people see it. */
import { tmpdir } from 'node:os';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { expect, test } from 'vitest';
import { specOf } from '../../src/activities/agent-spec.js';
import { RunCache } from '../../src/activities/run-cache.js';
import { defineAgent, mcpServer } from '../../src/index.js';
import { callMcpTool } from '../../src/mcp/activities.js';
import { McpPool } from '../../src/mcp/pool.js';
import { mcpToolSpecs } from '../../src/mcp/tool-specs.js';
import { oddServer } from './servers.js';

test('progress is told without the secrets of the server', async () => {
  const server = mcpServer(oddServer('plain', { env: { ODD_TOKEN: 'a-private-token' } }));
  const pool = new McpPool(new Map([['odd', server]]), () => undefined);
  const agent = defineAgent({ name: 'a', instructions: 'Work.', model: 'm', mcp: [server] });
  const { tools } = mcpToolSpecs(server, [{ name: 'progress', inputSchema: { type: 'object' } }]);
  const spec = specOf(agent, agent.options, { prices: {}, searchAttributes: false, storesLargePayloads: false }, tools);
  const cache = new RunCache(1e6);
  cache.keepSpec(spec);
  const dependencies = {
    describe: {
      agents: new Map(),
      prices: {},
      cache,
      searchAttributes: () => Promise.resolve(false),
      storesLargePayloads: () => false,
    },
    workspaces: `${tmpdir()}/everlap-mcp-progress-test`,
    bound: (text: string) => Promise.resolve(text),
    pool,
    passOn: () => undefined,
  };
  const call = { runId: 'r', lap: 1, turn: 1, callId: 'c', idempotencyKey: 'k' };
  const environment = new MockActivityEnvironment(
    { activityType: 'tool.odd__progress', heartbeatTimeoutMs: 10_000 },
    { logger: new DefaultLogger('ERROR') },
  );
  const beats: unknown[] = [];
  environment.on('heartbeat', (details: unknown) => beats.push(details));
  try {
    const output = await environment.run(async () =>
      callMcpTool(dependencies, 'tool.odd__progress', { args: {}, call, spec: spec.hash }),
    );
    expect(output).toEqual({ text: 'whole' });
    expect(beats).toContain('1 of 2: half, with [secret]');
  } finally {
    await pool.close();
  }
});
