/** The MCP SDK, an optional package: loaded when the first server is needed. */
import { createRequire } from 'node:module';
import { DefinitionError } from '../agents/definition-error.js';

const { resolve } = createRequire(import.meta.url);

/** @throws DefinitionError where the package is not installed: told when the worker starts, not in the first run. */
export function checkSdk(find: (id: string) => unknown = resolve): void {
  try {
    find('@modelcontextprotocol/sdk/client/index.js');
  } catch {
    throw new DefinitionError(
      'MCP servers need the package @modelcontextprotocol/sdk, which is not installed here. ' +
        'Run: npm install @modelcontextprotocol/sdk',
    );
  }
}

export async function loadSdk() {
  const [{ Client }, { StreamableHTTPClientTransport, StreamableHTTPError }, stdio, messages, { McpError }] =
    await Promise.all([
      import('@modelcontextprotocol/sdk/client/index.js'),
      import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
      import('@modelcontextprotocol/sdk/client/stdio.js'),
      import('@modelcontextprotocol/sdk/shared/stdio.js'),
      import('@modelcontextprotocol/sdk/types.js'),
    ]);
  const { getDefaultEnvironment } = stdio;
  const { serializeMessage, deserializeMessage } = messages;
  return {
    Client,
    StreamableHTTPClientTransport,
    StreamableHTTPError,
    McpError,
    getDefaultEnvironment,
    serializeMessage,
    deserializeMessage,
  };
}

export type McpSdk = Awaited<ReturnType<typeof loadSdk>>;
