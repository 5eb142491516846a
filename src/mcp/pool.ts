/** A worker's MCP servers: one link to each, opened when first needed, all closed when the worker has ended. */
import type { McpServerDefinition } from './define-server.js';
import type { McpSdk } from './sdk.js';
import { ServerLink, type McpLog } from './server-link.js';

export class McpPool {
  private readonly links: ReadonlyMap<string, ServerLink>;
  private users = 0;

  constructor(
    servers: ReadonlyMap<string, McpServerDefinition>,
    readonly log: McpLog,
    load?: () => Promise<McpSdk>,
  ) {
    this.links = new Map([...servers].map(([name, server]) => [name, new ServerLink(server, log, load)]));
  }

  link(server: string): ServerLink | undefined {
    return this.links.get(server);
  }

  get names(): readonly string[] {
    return [...this.links.keys()];
  }

  /** Opens the pool for as long as `work` runs; several workers may share one. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.users += 1;
    for (const link of this.links.values()) link.reopen();
    try {
      return await work();
    } finally {
      this.users -= 1;
      if (this.users === 0) await this.close();
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.links.values()].map((link) => link.close()));
  }
}
