/** The servers that the tests of MCP speak to: the public one for tests of clients, and an odd one of our own. */
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { McpProcessOptions } from 'everlap';
import { eventually, logged } from '../support/rig.js';
import { freePort } from '../../src/dev/free-port.js';

const EVERYTHING = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));
const ODD = fileURLToPath(new URL('odd-server.js', import.meta.url));

type More = Partial<Omit<McpProcessOptions, 'command' | 'args' | 'url'>>;

export function everythingServer(more: More = {}): McpProcessOptions {
  return { name: 'everything', command: process.execPath, args: [EVERYTHING, 'stdio'], ...more };
}

export function oddServer(mode: string, more: More & { readonly file?: string } = {}): McpProcessOptions {
  const { file = '', ...options } = more;
  return { name: 'odd', command: process.execPath, args: [ODD, mode, file], ...options };
}

export interface HttpServer {
  readonly port: number;
  readonly url: string;
  /** Ends it at once, as a crash would. */
  kill(): Promise<void>;
}

/** The public server over streamable HTTP. It cannot say which port it got, so it is told one. */
export async function startEverythingHttp(port?: number): Promise<HttpServer> {
  const own = port ?? (await freePort());
  const child = spawn(process.execPath, [EVERYTHING, 'streamableHttp'], {
    env: { PATH: process.env['PATH'], PORT: String(own) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(child, 'exit');
  for await (const line of createInterface({ input: child.stderr })) if (line.includes('listening')) break;
  return {
    port: own,
    url: `http://127.0.0.1:${own}/mcp`,
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** Process ids of this server, in the order in which it was started, as the worker has logged them. */
export function pidsOf(server: string): number[] {
  return logged.flatMap(({ meta }) =>
    meta?.['mcpServer'] === server && typeof meta['pid'] === 'number' ? [meta['pid']] : [],
  );
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

export async function gone(pid: number): Promise<void> {
  await eventually(async () => !isAlive(pid), `the end of process ${pid}`);
}
