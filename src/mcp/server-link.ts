/**
 * The worker's link to one MCP server: connects when it is needed, again when the connection was lost, and not at once
 * again where that failed. Says of each failed call whether the tool may have run.
 * Invariant: at most one connection is open or being opened.
 */
import type { JsonObject } from '../conversation/json.js';
import { errorText } from '../activities/error-text.js';
import { untilAborted } from '../waiting/interruptible.js';
import { ToolError } from '../agents/tool-error.js';
import { Connection, type CallOptions } from './connection.js';
import type { McpServerDefinition } from './define-server.js';
import { NotGiven } from './given.js';
import { NotStarted } from './process-transport.js';
import { loadSdk, type McpSdk } from './sdk.js';
import { Secrets } from './secrets.js';

export type McpLog = (level: 'INFO' | 'WARN', message: string, meta?: Record<string, unknown>) => void;

/** It could not be reached: what was wanted of it has surely not happened. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
  /** Trying again does not help. */
  readonly isFinal: boolean;

  constructor(message: string, { isFinal = false } = {}) {
    super(message);
    this.isFinal = isFinal;
  }
}

/** It was lost while it worked: nobody knows how far it came. */
export class Lost extends Error {
  override readonly name = 'Lost';
}

const MIN_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 30_000;
/** Failures before anything was sent. */
const NOT_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

export class ServerLink {
  private readonly secrets = new Secrets();
  private connection: Connection | undefined;
  private opening: Promise<Connection> | undefined;
  private failures = 0;
  private retryAt = 0;
  private lastFailure = '';
  private closed = false;

  constructor(
    readonly server: McpServerDefinition,
    private readonly log: McpLog,
    private readonly load: () => Promise<McpSdk> = loadSdk,
  ) {}

  /** @throws Unreachable, also where it answers with an error: nothing was changed by asking. */
  async listTools(signal: AbortSignal): Promise<readonly unknown[]> {
    const connection = await this.open(signal);
    try {
      return await connection.listTools({ signal, timeoutMs: this.server.startTimeoutMs });
    } catch (error) {
      signal.throwIfAborted();
      // Over HTTP a server may have forgotten the session, which only a new connection mends.
      await connection.close();
      throw new Unreachable(`The MCP server ${this.server.name} did not list its tools: ${this.words(error)}`);
    }
  }

  /**
   * The result as the server gave it.
   * @throws Unreachable, Lost, or ToolError with what the server said.
   */
  async callTool(tool: string, args: JsonObject, options: CallOptions): Promise<unknown> {
    for (let again = false; ; again = true) {
      const connection = await this.open(options.signal);
      try {
        return await connection.callTool(tool, args, options);
      } catch (error) {
        options.signal.throwIfAborted();
        const { McpError, StreamableHTTPError } = await this.load();
        const status = error instanceof StreamableHTTPError ? (error.code ?? 0) : 0;
        if (isSessionGone(connection, status, error) && !again) {
          await connection.close();
          continue;
        }
        if (isNotSent(error)) {
          await connection.close();
          throw this.unreachable(error);
        }
        const isAnswer = (error instanceof McpError && !connection.ended) || (status >= 400 && status < 500);
        if (isAnswer && status !== 408 && status !== 429) throw new ToolError(this.words(error));
        const how = connection.end === '' ? this.words(error) : connection.end;
        throw new Lost(`the MCP server ${this.server.name} was lost while it ran (${how})`);
      }
    }
  }

  /** Text of this server without the secrets that it was given. */
  hide(text: string): string {
    return this.secrets.hide(text);
  }

  /** Ends the connection, for as long as nobody opens the link again. */
  async close(): Promise<void> {
    this.closed = true;
    const opening = this.opening?.catch(() => undefined);
    await this.connection?.close();
    await (await opening)?.close();
  }

  reopen(): void {
    this.closed = false;
  }

  private async open(signal: AbortSignal): Promise<Connection> {
    signal.throwIfAborted();
    if (this.closed) throw new Unreachable(`The MCP server ${this.server.name} is closed: its worker shuts down.`);
    if (this.connection?.ended === false) return this.connection;
    if (this.opening === undefined) {
      if (Date.now() < this.retryAt) throw new Unreachable(this.lastFailure);
      this.opening = this.connect().finally(() => {
        this.opening = undefined;
      });
    }
    // The connection is for everybody: one caller that gives up does not end it.
    return untilAborted(this.opening, signal);
  }

  private async connect(): Promise<Connection> {
    const { name, options, startTimeoutMs } = this.server;
    let connection: Connection;
    try {
      connection = await Connection.open({
        server: options,
        sdk: await this.load(),
        secrets: this.secrets,
        timeoutMs: startTimeoutMs,
        onStderr: (line) => this.log('INFO', `MCP server ${name}: ${line}`, { mcpServer: name }),
      });
    } catch (error) {
      throw this.unreachable(error);
    }
    this.failures = 0;
    this.connection = connection;
    const { pid } = connection;
    const what = pid === undefined ? 'is connected' : `runs as process ${pid}`;
    this.log('INFO', `The MCP server ${name} ${what}.`, { mcpServer: name, ...(pid !== undefined && { pid }) });
    if (this.closed) await connection.close();
    void this.watch(connection);
    return connection;
  }

  private unreachable(error: unknown): Unreachable {
    const { name } = this.server;
    const text = `The MCP server ${name} cannot be reached: ${this.words(error)}`;
    this.log('WARN', text, { mcpServer: name });
    // Found out at no cost, so found out anew for each run: somebody may have installed it.
    if (error instanceof NotStarted && error.isFinal) return new Unreachable(text, { isFinal: true });
    this.failures += 1;
    this.retryAt = Date.now() + Math.min(MAX_BACKOFF_MS, MIN_BACKOFF_MS * 2 ** (this.failures - 1));
    this.lastFailure = text;
    return new Unreachable(text);
  }

  private async watch(connection: Connection): Promise<void> {
    await connection.whenEnded;
    if (this.closed) return;
    const { name } = this.server;
    const how = connection.end === '' ? '' : ` (${connection.end})`;
    this.log('WARN', `The connection to the MCP server ${name} has ended${how}; the next call makes a new one.`, {
      mcpServer: name,
    });
  }

  private words(error: unknown): string {
    return errorText(error, (text) => this.secrets.hide(text));
  }
}

/** 404 is the protocol's answer to an unknown session; 400 is what some servers give instead. The tool did not run. */
function isSessionGone(connection: Connection, status: number, error: unknown): boolean {
  if (!connection.hasSession) return false;
  return status === 404 || (status === 400 && error instanceof Error && /session/i.test(error.message));
}

function isNotSent(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof NotGiven) return true;
    if ('code' in cause && typeof cause.code === 'string' && NOT_SENT.has(cause.code)) return true;
    if (cause instanceof AggregateError) return cause.errors.length > 0 && cause.errors.every(isNotSent);
  }
  return false;
}
