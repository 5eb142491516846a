/**
 * `everlap/worker`: what runs agents. `EverlapPlugin` adds Everlap to a worker and client that exist already;
 * `createWorker` makes a worker that has nothing else.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { SimplePlugin } from '@temporalio/plugin';
import {
  type BundleOptions,
  type NativeConnection,
  Runtime,
  Worker,
  type LogLevel,
  type LogMetadata,
  type WorkerOptions,
  type WorkerPlugin,
} from '@temporalio/worker';
import { createActivities } from './activities/index.js';
import { RunCache } from './activities/run-cache.js';
import { Shutdown } from './activities/shutdown.js';
import { DEFAULT_TASK_QUEUE } from './agents/define-agent.js';
import { defineConfig, mcpServersOf, type ConfigOptions } from './agents/define-config.js';
import type { ArtifactStore } from './artifacts/artifact-store.js';
import { folderArtifacts } from './artifacts/folder-artifacts.js';
import { temporalEnvironment } from './connection/temporal-server.js';
import { McpPool } from './mcp/pool.js';
import { checkSdk } from './mcp/sdk.js';
import { cachedRuns } from './storage/cached-runs.js';
import { checkOneProtobuf } from './storage/one-protobuf.js';
import { openaiChat } from './models/openai-chat.js';
import { connectNatively } from './worker/connect.js';
import { deploymentOptions, type DeploymentOptions } from './worker/deployment.js';
import { LocalEnds } from './worker/local-ends.js';
import { sweepDaily } from './worker/sweep-daily.js';

export type { ArtifactPart, ArtifactStore } from './artifacts/artifact-store.js';
export { folderArtifacts, type FolderArtifactsOptions } from './artifacts/folder-artifacts.js';
export { s3Artifacts, type S3ArtifactsOptions, type S3ClientLike } from './artifacts/s3-artifacts.js';
export type { DeploymentOptions } from './worker/deployment.js';
/** Temporal's own, of the very copy that Everlap uses: for `externalStorage` with another driver than a folder. */
export { ExternalStorage } from '@temporalio/common';
export { folderStorage, type FolderStorageOptions } from './storage/folder-storage.js';
export { aiSdk, type AiSdkModel, type AiSdkOptions } from './models/ai-sdk.js';
export { openaiChat, type OpenAiChatOptions } from './models/openai-chat.js';
export { openaiResponses, type OpenAiResponsesOptions } from './models/openai-responses.js';

/** Bytes of conversations that a worker keeps, so as not to ask runs for what it has seen. */
const DEFAULT_CACHE_BYTES = 64 * 1024 * 1024;
/** Lets live tokens through to watchers; Temporal's default would hold heartbeats back for seconds. */
const HEARTBEAT_THROTTLE_MS = 100;
/** For tools to end by themselves on shutdown, before their signal aborts. Model calls are aborted at once. */
const SHUTDOWN_GRACE = '2 seconds';
/** After that the worker ends whatever still runs. */
const SHUTDOWN_FORCE = '10 seconds';
const SHUTDOWN_POLL_MS = 50;

export interface EverlapPluginOptions extends Omit<ConfigOptions, 'taskQueue'> {
  /** Bytes of conversations kept in memory. Default 64 MB. */
  readonly cacheBytes?: number;
}

const WORKFLOWS = fileURLToPath(new URL('./workflows/index.js', import.meta.url));

/**
 * Everlap as a Temporal plugin, for `Worker.create({ plugins: [new EverlapPlugin({ agents })] })`.
 * A worker with workflows of its own (`workflowsPath`) adds `export * from 'everlap/workflows'` to them; one without gets
 * Everlap's prebuilt bundle.
 * @throws DefinitionError as `defineConfig`.
 */
export class EverlapPlugin extends SimplePlugin {
  private readonly shutdown: Shutdown;
  private readonly localEnds: LocalEnds;
  private readonly mcp: McpPool;
  private readonly artifacts: ArtifactStore;
  /** Whether payloads over Temporal's limit have somewhere to go. */
  private storesLargePayloads = false;

  constructor(options: EverlapPluginOptions) {
    const shutdown = new Shutdown();
    const localEnds = new LocalEnds();
    const { cacheBytes = DEFAULT_CACHE_BYTES, ...config } = options;
    defineConfig(config);
    const { externalStorage, artifacts = folderArtifacts() } = config;
    const servers = mcpServersOf(options.agents);
    if (servers.size > 0) checkSdk();
    const mcp = new McpPool(servers, log);
    super({
      name: 'everlap',
      workerInterceptors: localEnds.interceptors,
      ...(externalStorage && { dataConverter: { externalStorage } }),
      activities: createActivities({
        ...options,
        artifacts,
        provider: options.provider ?? openaiChat(),
        cache: new RunCache(cacheBytes),
        shutdown: () => shutdown.signal,
        storesLargePayloads: () => this.storesLargePayloads,
        mcp,
      }),
    });
    this.shutdown = shutdown;
    this.localEnds = localEnds;
    this.mcp = mcp;
    this.artifacts = artifacts;
  }

  override configureWorker(options: WorkerOptions): WorkerOptions {
    const withWorkflows = { ...options, ...workflowsOf(options) };
    const { workflowBundle, bundlerOptions } = withWorkflows;
    const shared = { bundlerOptions: { ...bundlerOptions, ...loadedOnce(bundlerOptions?.preloadModules) } };
    const configured = super.configureWorker({ ...withWorkflows, ...(workflowBundle === undefined && shared) });
    if (configured.dataConverter?.externalStorage !== undefined) {
      checkOneProtobuf();
      this.storesLargePayloads = true;
    }
    return {
      maxCachedWorkflows: cachedRuns(),
      maxHeartbeatThrottleInterval: HEARTBEAT_THROTTLE_MS,
      shutdownGraceTime: SHUTDOWN_GRACE,
      shutdownForceTime: SHUTDOWN_FORCE,
      ...configured,
    };
  }

  /** For those who bundle their workflows ahead. */
  override configureBundler(options: BundleOptions): BundleOptions {
    return super.configureBundler({ ...options, ...loadedOnce(options.preloadModules) });
  }

  override async runWorker(worker: Worker, next: (worker: Worker) => Promise<void>): Promise<void> {
    // The SDK tells activities of a shutdown only after their grace time; a model call should not wait for that.
    const stops = this.shutdown.workerStarts();
    const timer = setInterval(() => {
      if (worker.getState() !== 'RUNNING' && worker.getState() !== 'INITIALIZED') stops();
    }, SHUTDOWN_POLL_MS);
    const stopSweeping = sweepDaily(this.artifacts, log);
    const ended = this.localEnds.workerStarts(worker);
    try {
      await this.mcp.during(() => super.runWorker(worker, next));
    } finally {
      clearInterval(timer);
      stopSweeping();
      ended();
      stops();
    }
  }
}

function log(level: LogLevel, message: string, meta?: LogMetadata): void {
  Runtime.instance().logger.log(level, message, meta);
}

/** Everlap's workflow modules keep no state: all runs of a worker can share them, which saves each of them memory and time. */
function loadedOnce(theirs: readonly string[] = []): { preloadModules: string[] } {
  return { preloadModules: [...theirs, WORKFLOWS] };
}

/** The prebuilt bundle, or, where a payload converter must be bundled in, the workflows to bundle with it. */
function workflowsOf(options: WorkerOptions): Pick<WorkerOptions, 'workflowsPath' | 'workflowBundle' | 'buildId'> {
  if (options.workflowsPath !== undefined || options.workflowBundle !== undefined) return {};
  const { payloadConverterPath, failureConverterPath } = options.dataConverter ?? {};
  if (payloadConverterPath !== undefined || failureConverterPath !== undefined) {
    return { workflowsPath: WORKFLOWS };
  }
  const workflowBundle = everlapBundle();
  const named = options.buildId !== undefined || options.workerDeploymentOptions !== undefined;
  return { workflowBundle, ...(!named && { buildId: buildIdOf(workflowBundle.code) }) };
}

/**
 * As the SDK's own default, package and hash of the workflow code, but short: it is in six events of every turn, and
 * the SDK's takes 85 characters.
 */
function buildIdOf(code: string): string {
  return `everlap+${createHash('sha256').update(code).digest('hex').slice(0, 12)}`;
}

/** Closes the connection that was made for a worker, when the worker has ended. */
function closing(connection: NativeConnection): WorkerPlugin {
  return {
    name: 'everlap-connection',
    runWorker: async (worker, next) => {
      try {
        await next(worker);
      } finally {
        await connection.close();
      }
    },
  };
}

/** Everlap's workflows, bundled when the package was built: for `Worker.create` and for replaying histories. */
export function everlapBundle(): { code: string } {
  return { code: readFileSync(new URL('./workflow-bundle.js', import.meta.url), 'utf8') };
}

export interface CreateWorkerOptions extends EverlapPluginOptions {
  /** Default `everlap`. */
  readonly taskQueue?: string;
  /** Default: from Temporal's environment configuration, else `default`. */
  readonly namespace?: string;
  /** Default: a new one by Temporal's environment configuration (TEMPORAL_ADDRESS, profiles, API key, mTLS). */
  readonly connection?: NativeConnection;
  /** Makes it a versioned worker, which gets work when its version is made the current one. Default: not versioned. */
  readonly deployment?: DeploymentOptions;
  /** Anything else that a Temporal worker takes: limits, identity, tuner, data converter. */
  readonly worker?: Omit<WorkerOptions, 'taskQueue' | 'namespace' | 'connection'>;
}

/**
 * A worker for agents and nothing else. Start it with `run()`; SIGTERM and SIGINT shut it down within a bound.
 * @throws where the server cannot be reached, or the definitions do not fit together.
 */
export async function createWorker(options: CreateWorkerOptions): Promise<Worker> {
  const { taskQueue = DEFAULT_TASK_QUEUE, connection, namespace, deployment, worker, ...everlap } = options;
  const plugin = new EverlapPlugin(everlap);
  const versioned = deployment && { workerDeploymentOptions: deploymentOptions(deployment) };
  const environment = temporalEnvironment();
  const own =
    connection === undefined
      ? await connectNatively(environment.connectionOptions, 'the option connection')
      : undefined;
  try {
    return await Worker.create({
      ...versioned,
      ...worker,
      plugins: [...(worker?.plugins ?? []), plugin, ...(own ? [closing(own)] : [])],
      ...((connection ?? own) && { connection: connection ?? own }),
      namespace: namespace ?? environment.namespace ?? 'default',
      taskQueue,
    });
  } catch (error) {
    await own?.close();
    throw error;
  }
}
