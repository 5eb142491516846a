/**
 * One living connection to one MCP server: made, used, ended; never made again (that is server-link.ts). Knows the
 * protocol, not tools' policies and not Temporal.
 */
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { z } from 'zod';
import type { JsonObject } from '../conversation/json.js';
import { boundedBody } from './bounded-body.js';
import type { McpServerOptions } from './define-server.js';
import { askFor, TEXTS, TOKEN, type Form } from './given.js';
import { NotStarted, ProcessTransport } from './process-transport.js';
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
/** A function of the definition that hangs is told as such, and not as a server that does. */
const GIVEN_FIRST_MS = 250;
/** Of one message over HTTP: images travel in it as base64. */
const MAX_MESSAGE = 64 * 1024 * 1024;

type Transport = ProcessTransport | InstanceType<McpSdk['StreamableHTTPClientTransport']>;

export class Connection {
  /** Resolves when it has ended, whoever ended it. */
  readonly whenEnded: Promise<void>;
  private isEnded = false;
  private inFlight = 0;
  private probing = false;
  /** Why it was ended from here. */
  private why = '';

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
    const until = Date.now() + timeoutMs + GIVEN_FIRST_MS;
    const tooLong = { happened: (): void => undefined };
    const transport = await transportOf(options, () => tooLong.happened());
    const connection = new Connection(client, transport);
    tooLong.happened = () => connection.giveUp(`it sent a message of more than ${MAX_MESSAGE} bytes`);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const sayLate = (): void => reject(new Error(`it gave no answer within ${timeoutMs / 1000} seconds`));
      timer = setTimeout(sayLate, Math.max(0, until - Date.now()));
    });
    try {
      await Promise.race([client.connect(transport, { timeout: timeoutMs + MARGIN_MS }), late]);
      return connection;
    } catch (error) {
      // Before it is ended from here.
      const { end } = connection;
      await connection.close();
      throw end === '' || error instanceof NotStarted
        ? error
        : new Error(`it ended while it started (${end})`, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  get ended(): boolean {
    return this.isEnded;
  }

  /** How it ended, as part of a sentence; '' where it has not, or nobody knows. */
  get end(): string {
    return this.why || (this.transport instanceof ProcessTransport ? this.transport.ended : '');
  }

  /** Of its program; for logs. */
  get pid(): number | undefined {
    return this.transport instanceof ProcessTransport ? this.transport.pid : undefined;
  }

  get hasSession(): boolean {
    return !(this.transport instanceof ProcessTransport) && this.transport.sessionId !== undefined;
  }

  /** All tools, as the server tells them, all pages within the time. */
  async listTools({ signal, timeoutMs }: Omit<CallOptions, 'onProgress'>): Promise<readonly unknown[]> {
    if (this.client.getServerCapabilities()?.tools === undefined) return [];
    const tools: unknown[] = [];
    const until = Date.now() + timeoutMs;
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const request = { method: 'tools/list' as const, params: cursor === undefined ? {} : { cursor } };
      const answer = await this.client.request(request, TOOLS_PAGE, {
        signal,
        timeout: Math.max(1, until - Date.now()),
      });
      for (const tool of answer.tools) tools.push(tool);
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

  private giveUp(why: string): void {
    this.why ||= why;
    void this.close();
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

/** @param onTooLong is called when it has sent a message that is too long to be read. */
async function transportOf(options: ConnectionOptions, onTooLong: () => void): Promise<Transport> {
  const { server, sdk, secrets, timeoutMs, onStderr } = options;
  const ask = <T>(what: string, form: Form<T>, given: T | (() => T | Promise<T>)): Promise<T> =>
    askFor(given, { what, form, timeoutMs });
  if (server.command !== undefined) {
    const { command, args = [], cwd } = server;
    const given = await ask('env', TEXTS, server.env ?? {});
    secrets.addEnvironment(given);
    secrets.addArguments(args);
    const env = { ...sdk.getDefaultEnvironment(), ...given };
    const hide = (text: string): string => secrets.hide(text);
    return new ProcessTransport({ command, args, env, ...(cwd !== undefined && { cwd }), onStderr, hide }, sdk);
  }
  const { headers = {}, auth } = server;
  const url = new URL(server.url);
  secrets.addUrl(url);
  return new sdk.StreamableHTTPClientTransport(url, {
    fetch: async (input, init) => {
      const given = { ...(await ask('headers', TEXTS, headers)) };
      if (auth !== undefined) given['authorization'] = `Bearer ${await ask('auth', TOKEN, auth)}`;
      secrets.addHeaders(given);
      const all = new Headers(init?.headers);
      for (const [name, value] of Object.entries(given)) all.set(name, value);
      return boundedBody(await fetch(input, { ...init, headers: all }), MAX_MESSAGE, onTooLong);
    },
  });
}
