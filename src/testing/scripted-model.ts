/**
 * The scripted model: a small OpenAI-compatible HTTP server that plays a script instead of thinking, for tests, the
 * demo and the benchmarks. It says that it is scripted, records what it is asked, and refuses loudly what is wrong.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isJsonObject } from '../conversation/json.js';
import { strictComplaint } from '../conversation/strict.js';
import { bodyOf, jsonOf, refuse, sendJson } from './http.js';
import { play } from './play.js';
import { parseChatRequest, RecordedRequest, type ChatRequest } from './request.js';
import { ScriptReader, UnexpectedRequest, type Scripts } from './script.js';
import type { Step } from './steps.js';
import { Waiters } from './waiters.js';

export interface ScriptedModelOptions extends Scripts {
  /** Whether to refuse, with 400, what a strict provider would refuse (`strictComplaint`). Default true. */
  readonly strict?: boolean;
  /** Default 0: any free one. Always on 127.0.0.1. */
  readonly port?: number;
  /** What `GET /v1/models` lists. Any model's name is answered. Default `['scripted']`. */
  readonly models?: readonly string[];
  /** How many of the newest requests keep their bodies, for long runs. Default: all. */
  readonly keepBodies?: number;
}

/** Starts a scripted model. Close it: `close()` also says whether anything was asked that should not have been. */
export async function startScriptedModel(options: ScriptedModelOptions): Promise<ScriptedModel> {
  const model = new ScriptedModel(options);
  await model.listen(options.port ?? 0);
  return model;
}

/** Made by {@link startScriptedModel} only. */
export class ScriptedModel {
  /** Every chat request that could be read, in order of arrival. */
  readonly requests: RecordedRequest[] = [];
  /** What strict mode refused, a sentence each. */
  readonly complaints: string[] = [];
  /** What no script was for: requests past the end, unknown paths, unreadable bodies, scripts that threw. */
  readonly unexpected: string[] = [];
  readonly #server: Server;
  readonly #scripts: ScriptReader;
  readonly #waiters = new Waiters();
  #port = 0;
  #closing: Promise<void> | null = null;

  constructor(readonly options: ScriptedModelOptions) {
    this.#scripts = new ScriptReader(options);
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        // Only a request whose client went before its body was whole comes here: there is nobody to answer.
        if (!response.destroyed) response.destroy(error instanceof Error ? error : undefined);
      });
    });
  }

  /** E.g. `http://127.0.0.1:40123`. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** For an OpenAI client: {@link url} with `/v1`. */
  get baseUrl(): string {
    return `${this.url}/v1`;
  }

  /** The environment that points an OpenAI client here. */
  get env(): { readonly OPENAI_BASE_URL: string; readonly OPENAI_API_KEY: string } {
    return { OPENAI_BASE_URL: this.baseUrl, OPENAI_API_KEY: 'scripted' };
  }

  /** How many steps of the script (lists only) nobody has asked for yet. */
  get stepsLeft(): number {
    return this.#scripts.stepsLeft;
  }

  /** The request with this index (from 0), once it is there. Rejects if the server is closed before. */
  waitForRequest(index: number): Promise<RecordedRequest> {
    return this.#waiters.for(() => this.requests[index]);
  }

  /** The same request once its connection has ended: see {@link RecordedRequest.closed} for how. */
  waitForClosed(index: number): Promise<RecordedRequest> {
    return this.#waiters.for(() => {
      const request = this.requests[index];
      return request?.closed ? request : undefined;
    });
  }

  /** @throws Error that lists everything refused or unexpected so far, if there was any. */
  verify(): void {
    const wrong = [...this.unexpected, ...this.complaints];
    if (wrong.length === 0) return;
    throw new Error(`The scripted model was asked what it should not have been:\n- ${wrong.join('\n- ')}`);
  }

  /**
   * Ends the server and every open connection, then verifies. Again: the same result.
   * @throws Error as {@link verify} does, unless `verify: false`.
   */
  async close({ verify = true }: { readonly verify?: boolean } = {}): Promise<void> {
    this.#closing ??= this.#stop();
    await this.#closing;
    if (verify) this.verify();
  }

  async listen(port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, '127.0.0.1', () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
    const address = this.#server.address();
    this.#port = typeof address === 'object' && address !== null ? address.port : 0;
  }

  async #stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
    this.#waiters.end(new Error('The scripted model was closed before what you wait for came.'));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? '/', this.url).pathname;
    const asked = `${request.method} ${path}`;
    if (asked === 'GET /v1/models') return this.#listModels(response);
    const body = await bodyOf(request);
    if (asked === 'POST /v1/chat/completions') return await this.#chat(request, body, response);
    const sentence = `${asked} was asked for, which the scripted model does not serve.`;
    this.unexpected.push(sentence);
    refuse(response, 404, sentence);
  }

  #listModels(response: ServerResponse): void {
    const data = (this.options.models ?? ['scripted']).map((id) => ({
      id,
      object: 'model',
      created: 0,
      owned_by: 'everlap-scripted',
    }));
    sendJson(response, 200, { object: 'list', data });
  }

  async #chat(request: IncomingMessage, text: string, response: ServerResponse): Promise<void> {
    const json = jsonOf(text);
    const complaint = this.#strictComplaint(json);
    const body = parseChatRequest(json);
    if (typeof body === 'string') {
      const sentence = complaint ?? body;
      (complaint === null ? this.unexpected : this.complaints).push(sentence);
      return refuse(response, 400, sentence);
    }
    const entry = this.#record(request, text.length, body);
    const connection = this.#follow(entry, response);
    const step = await this.#stepFor(entry, complaint);
    if (step === null) return refuse(response, 400, entry.refused ?? '');
    try {
      await play(step, {
        response,
        ...connection,
        stream: body.stream === true,
        context: {
          requestIndex: entry.index,
          model: body.model,
          promptChars: text.length,
          includeUsage: body.stream_options?.include_usage === true,
        },
      });
    } catch (error) {
      // The connection's end is recorded already; everything else is a fault of the script.
      if (connection.gone.aborted) return;
      const sentence = `Request ${entry.index}: its step could not be played: ${String(error)}`;
      this.unexpected.push(sentence);
      if (response.headersSent) connection.cut();
      else refuse(response, 400, sentence);
    }
  }

  #strictComplaint(json: unknown): string | null {
    if (this.options.strict === false || !isJsonObject(json) || !('messages' in json)) return null;
    return strictComplaint(json['messages']);
  }

  /** The step that the script has; null if the request is refused, as noted in it. Never throws. */
  async #stepFor(entry: RecordedRequest, complaint: string | null): Promise<Step | null> {
    if (complaint !== null) {
      entry.refused = `Request ${entry.index}: ${complaint}`;
      this.complaints.push(entry.refused);
      return null;
    }
    try {
      return await this.#scripts.next(entry);
    } catch (error) {
      const why = error instanceof UnexpectedRequest ? error.message : `its script threw ${String(error)}`;
      entry.refused = `Request ${entry.index} was not expected: ${why}.`;
      this.unexpected.push(entry.refused);
      return null;
    }
  }

  #record(request: IncomingMessage, bodyChars: number, body: ChatRequest): RecordedRequest {
    const entry = new RecordedRequest(this.requests.length, request.headers, Date.now(), bodyChars, body);
    this.requests.push(entry);
    const { keepBodies } = this.options;
    if (keepBodies !== undefined) this.requests[entry.index - keepBodies]?.forgetBody();
    this.#waiters.wake();
    return entry;
  }

  /** Records how the connection ends; `gone` aborts then. */
  #follow(entry: RecordedRequest, response: ServerResponse): { readonly gone: AbortSignal; readonly cut: () => void } {
    const gone = new AbortController();
    let cutHere = false;
    response.once('close', () => {
      const ours = cutHere || this.#closing !== null;
      entry.closed = response.writableFinished ? 'whole' : ours ? 'cut' : 'by client';
      gone.abort();
      this.#waiters.wake();
    });
    const cut = (): void => {
      cutHere = true;
      response.destroy();
    };
    return { gone: gone.signal, cut };
  }
}
