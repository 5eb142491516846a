// Runs a Temporal dev server as a child process: for `everlap dev`, for tests and for the benchmarks.
// Which executable is decided in temporal-cli.ts; what runs on the server is no concern of this file.
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { freePort, isFree } from './free-port.js';
import { leash } from './leash.js';
import { EVERLAP_SEARCH_ATTRIBUTES, registerSearchAttributes } from './search-attributes.js';
import { findTemporalCli } from './temporal-cli.js';

const HOST = '127.0.0.1';
const READY_WITHIN_MS = 60_000;
const STOP_WITHIN_MS = 10_000;

/**
 * The queue of workflow and activity tasks is read at most 20 times a second by default, which makes each workflow task
 * of a busy run wait about 40 ms on a server with one history shard. History limits stay as they are in production.
 */
const DYNAMIC_CONFIG = ['history.transferProcessorMaxPollRPS=2000'];

export interface DevServerOptions {
  /** Port of the gRPC frontend on 127.0.0.1. 0 or none: a free one. */
  port?: number;
  /** Port of the web UI; 0: a free one. */
  uiPort?: number;
  /** No web UI. Default: true where no `uiPort` is given. */
  headless?: boolean;
  /** SQLite file that outlives the server; its folder is made. None: in memory. */
  dbFile?: string;
  /** Made where it is not there, beside `default`. Default `default`. */
  namespace?: string;
  /** More of the server's dynamic configuration, `KEY=JSON` each: for tests that want a limit reached sooner. */
  dynamicConfig?: readonly string[];
  /** What the server says is appended here. None: kept only while it runs, for the errors of this module. */
  logFile?: string;
  /** Path of the `temporal` executable. None: see `findTemporalCli`. */
  executable?: string;
  /** Told before something slow starts, such as the download of the executable. */
  onProgress?: (line: string) => void;
}

export interface DevServer {
  /** `127.0.0.1:PORT` */
  address: string;
  port: number;
  /** None where it is headless. */
  uiUrl?: string;
  namespace: string;
  pid: number;
  /** Resolves when the server has ended, whoever ended it, with a sentence that says how. */
  ended: Promise<string>;
  /** SIGTERM, SIGKILL after 10 seconds; resolves when the process is gone. Safe to call again. */
  stop(): Promise<void>;
  /** SIGKILL: as a crash. Resolves when the process is gone. */
  kill(): Promise<void>;
}

/**
 * Starts a server and waits until it answers, has the namespace and knows Everlap's search attributes.
 * It does not get the terminal's Ctrl-C (a worker that shuts down needs it) and does not outlive this process.
 * @throws a sentence: port in use, no executable, or not ready within 60 seconds, with the end of its log.
 */
export async function startDevServer(options: DevServerOptions = {}): Promise<DevServer> {
  const executable = options.executable ?? (await findTemporalCli({ onProgress: options.onProgress })).path;
  await refuseUsed(options.port, '--port');
  await refuseUsed(options.uiPort, '--ui-port');
  for (const path of [options.dbFile, options.logFile]) {
    if (path !== undefined) await mkdir(dirname(resolve(path)), { recursive: true });
  }
  // The server picks some more ports for itself, which another one that starts now may pick too.
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(executable, options);
    } catch (error) {
      if (attempt === 3 || !String(error).includes('address already in use')) throw error;
    }
  }
}

async function refuseUsed(port: number | undefined, option: string): Promise<void> {
  if (!port || (await isFree(port, HOST))) return;
  throw new Error(
    `Port ${port} of ${HOST} cannot be used for the Temporal dev server: something listens on it already (another dev ` +
      `server?), or it is not allowed. Stop that, or choose another port (${option}; 0 for a free one).`,
  );
}

async function startOnce(executable: string, options: DevServerOptions): Promise<DevServer> {
  const { namespace = 'default', headless = options.uiPort === undefined } = options;
  const port = options.port || (await freePort(HOST));
  const uiPort = headless ? undefined : options.uiPort || (await freePort(HOST));
  const address = `${HOST}:${port}`;
  const log = await openLog(options.logFile);
  const child = spawn(
    executable,
    [
      ...['server', 'start-dev', '--ip', HOST, '--port', `${port}`, '--namespace', namespace, '--log-level', 'warn'],
      ...(uiPort === undefined ? ['--headless'] : ['--ui-port', `${uiPort}`]),
      ...(options.dbFile === undefined ? [] : ['--db-filename', resolve(options.dbFile)]),
      ...[...DYNAMIC_CONFIG, ...(options.dynamicConfig ?? [])].flatMap((setting) => [
        '--dynamic-config-value',
        setting,
      ]),
      ...Object.entries(EVERLAP_SEARCH_ATTRIBUTES).flatMap(([name, type]) => ['--search-attribute', `${name}=${type}`]),
    ],
    // Its own process group (detached), so that Ctrl-C in the terminal reaches only this process.
    { stdio: ['ignore', log.fd, log.fd], detached: true, windowsHide: true, env: withoutTemporalVariables() },
  );
  closeSync(log.fd); // the child has its own copy
  const ended = endOf(child);
  const { pid } = child;
  if (pid === undefined) {
    await log.release();
    throw new Error(`The Temporal dev server could not be started: ${await ended}.`);
  }
  const letGo = leash(pid);
  void ended.then(letGo);

  const server: DevServer = {
    address,
    port,
    namespace,
    pid,
    ended,
    ...(uiPort === undefined ? {} : { uiUrl: `http://${HOST}:${uiPort}` }),
    async stop() {
      child.kill('SIGTERM');
      const late = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS);
      await ended;
      clearTimeout(late);
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
  const failure = await untilReady(server, child);
  if (failure === undefined) {
    void ended.then(log.release);
    return server;
  }
  await server.kill();
  const said = await log.tail();
  await log.release();
  throw new Error(`The Temporal dev server ${failure} (${executable}). The end of its log:\n${said || '(empty)'}`);
}

/** undefined once it is ready, else why it is not. */
async function untilReady(server: DevServer, child: ChildProcess): Promise<string | undefined> {
  const giveUpAt = Date.now() + READY_WITHIN_MS;
  const over = server.ended.then((how) => ({ over: how }));
  let last = '';
  while (Date.now() < giveUpAt) {
    const answer = await Promise.race([over, answers(server)]);
    if (typeof answer === 'object') return answer.over;
    if (answer === 'ready') {
      // Where its port was taken in between, the answer is another server's, and ours has ended.
      return child.exitCode === null && child.signalCode === null ? undefined : await server.ended;
    }
    last = answer;
    await sleep(50);
  }
  return `did not become ready within ${READY_WITHIN_MS / 1000} s (${last})`;
}

/** 'ready', or why not yet. */
async function answers({ address, namespace }: DevServer): Promise<string> {
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ address, connectTimeout: 2_000 });
    // A database file that was made without them, or with another namespace, does not get them from the command line.
    await registerSearchAttributes(connection, namespace);
    return 'ready';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await connection?.close();
  }
}

function endOf(child: ChildProcess): Promise<string> {
  return new Promise((done) => {
    child.once('error', (error) => done(error.message)); // it never ran
    child.once('exit', (code, signal) =>
      done(signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`),
    );
  });
}

/** The child writes to a file, never to a pipe: a pipe that nobody reads while this process is busy would stop it. */
async function openLog(logFile: string | undefined) {
  const folder = logFile === undefined ? await mkdtemp(join(tmpdir(), 'everlap-dev-server-')) : undefined;
  const path = logFile ?? join(folder ?? '', 'server.log');
  const before = await stat(path).then(
    ({ size }) => size,
    () => 0,
  );
  return {
    fd: openSync(path, 'a'),
    tail: async () => (await readFile(path)).subarray(before).toString().trim().split('\n').slice(-15).join('\n'),
    release: async () => {
      if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Addresses, namespaces and keys for clients: the server's own flags listen to some of them too. */
function withoutTemporalVariables(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('TEMPORAL_')));
}
