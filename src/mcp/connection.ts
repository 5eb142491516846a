/**
 * One living connection to one MCP server: made, used, ended; never made again (that is server-link.ts). Knows the
 * protocol, not tools' policies and not Temporal.
 */
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { z } from 'zod';
import type { JsonObject } from '../conversation/json.js';
import type { McpServerOptions } from './define-server.js';
import { ProcessTransport } from './process-transport.js';
import type { McpSdk } from './sdk.js';
import type { Secrets } from './secrets.js';

export interface CallOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly onProgress: (note: string) => void;
}

export interface ConnectionOptions {
  readonly server: McpServerOptions;
  readonly sdk: McpSdk;
  readonly secrets: Secrets;
  readonly timeoutMs: number;
  readonly onStderr: (line: string) => void;
}

/** Whatever is an object: what a tool has done is not undone by an answer in an odd shape. */
const ANY_RESULT = z.looseObject({});
const TOOLS_PAGE = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });
const MAX_PAGES = 100;
/** The caller's own limit comes first; this one is for a caller that has none. */
const MARGIN_MS = 10_000;
const PING_MS = 5_000;
const GOODBYE_MS = 1_000;

type Transport = ProcessTransport | InstanceType<McpSdk['StreamableHTTPClientTransport']>;

export class Connection {
  /** Resolves when it has ended, whoever ended it. */
  readonly whenEnded: Promise<void>;
  private isEnded = false;
  private inFlight = 0;
  private probing = false;

  private constructor(
    private readonly client: Client,
    private readonly transport: Transport,
  ) {
    this.whenEnded = new Promise((resolve) => {
      client.onclose = () => {
        this.isEnded = true;
        resolve();
      };
    });
    // A stream that breaks over HTTP is told nowhere else: the request that waits on it would wait until its time is up.
    client.onerror = () => {
      if (this.inFlight > 0) void this.probe();
    };
  }

  /** @throws where it cannot be made within `timeoutMs`; nothing is left behind then. */
  static async open(options: ConnectionOptions): Promise<Connection> {
    const { sdk, timeoutMs } = options;
    const client = new sdk.Client({ name: 'everlap', version: '1' }, { capabilities: {} });
    const transport = await transportOf(options);
    const connection = new Connection(client, transport);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`it gave no answer within ${timeoutMs / 1000} seconds`)), timeoutMs);
    });
    try {
      await Promise.race([client.connect(transport, { timeout: timeoutMs + MARGIN_MS }), late]);
      return connection;
    } catch (error) {
      // Before it is ended from here.
      const { end } = connection;
      await connection.close();
      throw end === '' ? error : new Error(`it ended while it started (${end})`, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  get ended(): boolean {
    return this.isEnded;
  }

  /** How its program ended, as part of a sentence; '' where it runs, or where there is none. */
  get end(): string {
    return this.transport instanceof ProcessTransport ? this.transport.ended : '';
  }

  /** Of its program; for logs. */
  get pid(): number | undefined {
    return this.transport instanceof ProcessTransport ? this.transport.pid : undefined;
  }

  get hasSession(): boolean {
    return !(this.transport instanceof ProcessTransport) && this.transport.sessionId !== undefined;
  }

  /** All tools, as the server tells them. */
  async listTools(options: Omit<CallOptions, 'onProgress'>): Promise<readonly unknown[]> {
    if (this.client.getServerCapabilities()?.tools === undefined) return [];
    const tools: unknown[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const request = { method: 'tools/list' as const, params: cursor === undefined ? {} : { cursor } };
      const answer = await this.client.request(request, TOOLS_PAGE, {
        signal: options.signal,
        timeout: options.timeoutMs,
      });
      tools.push(...answer.tools);
      if (answer.nextCursor === undefined || answer.nextCursor === cursor) return tools;
      cursor = answer.nextCursor;
    }
    throw new Error(`its list of tools has more than ${MAX_PAGES} pages`);
  }

  /** The result as it came. */
  async callTool(name: string, args: JsonObject, { signal, timeoutMs, onProgress }: CallOptions): Promise<unknown> {
    const request = { method: 'tools/call' as const, params: { name, arguments: args } };
    this.inFlight += 1;
    try {
      return await this.client.request(request, ANY_RESULT, {
        signal,
        timeout: timeoutMs + MARGIN_MS,
        onprogress: ({ progress, total, message }) =>
          onProgress([`${progress}${total === undefined ? '' : ` of ${total}`}`, message].filter(Boolean).join(': ')),
      });
    } catch (error) {
      // A server that hangs would hang the next call too.
      if (signal.aborted) void this.probe();
      throw error;
    } finally {
      this.inFlight -= 1;
    }
  }

  /** Ends the connection where the server does not answer any more. */
  async probe(): Promise<void> {
    if (this.probing || this.isEnded) return;
    this.probing = true;
    try {
      await this.client.ping({ timeout: PING_MS });
    } catch {
      await this.close();
    } finally {
      this.probing = false;
    }
  }

  /** Ends it, and the program with it. Never throws: what is closed may be broken already. */
  async close(): Promise<void> {
    if (!(this.transport instanceof ProcessTransport) && !this.isEnded) {
      const goodbye = this.transport.terminateSession().catch(() => undefined);
      await Promise.race([goodbye, new Promise((resolve) => setTimeout(resolve, GOODBYE_MS).unref())]);
    }
    await this.transport.close().catch(() => undefined);
    this.isEnded = true;
  }
}

async function transportOf({ server, sdk, secrets, onStderr }: ConnectionOptions): Promise<Transport> {
  if (server.command !== undefined) {
    const { command, args = [], cwd } = server;
    const given = await asked(server.env ?? {});
    secrets.addEnvironment(given);
    const env = { ...sdk.getDefaultEnvironment(), ...given };
    return new ProcessTransport({ command, args, env, ...(cwd !== undefined && { cwd }), onStderr }, sdk);
  }
  const { url, headers = {}, auth } = server;
  return new sdk.StreamableHTTPClientTransport(new URL(url), {
    fetch: async (input, init) => {
      const given = { ...(await asked(headers)) };
      if (auth !== undefined) given['authorization'] = `Bearer ${await asked(auth)}`;
      secrets.addHeaders(given);
      const all = new Headers(init?.headers);
      for (const [name, value] of Object.entries(given)) all.set(name, value);
      return fetch(input, { ...init, headers: all });
    },
  });
}

async function asked<T>(value: T | (() => T | Promise<T>)): Promise<T> {
  return value instanceof Function ? value() : value;
}
