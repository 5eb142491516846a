/** `EverlapClient`: starts runs, finds them, lists them. */
import { randomUUID } from 'node:crypto';
import { Client, type WorkflowExecutionInfo, type WorkflowStartOptions } from '@temporalio/client';
import type { ExternalStorage, Workflow } from '@temporalio/common';
import { DEFAULT_TASK_QUEUE, type AgentDefinition, type AgentWithOutput } from '../agents/define-agent.js';
import type { AgentOutput } from '../agents/output-schema.js';
import type { AgentRunInput, RunSettings } from '../agents/run-input.js';
import { WORKFLOW_TYPE } from '../agents/wire.js';
import { oneLine } from '../conversation/cut-text.js';
import { temporalEnvironment } from '../connection/temporal-server.js';
import { checkOneProtobuf } from '../storage/one-protobuf.js';
import type { TextArgument } from '../workflows/messages.js';
import { checkId, checkText } from './check-arguments.js';
import { connectTo } from './connect.js';
import { startWithFollowUp } from './follow-up.js';
import { RunHandle } from './run-handle.js';
import { typedAnswer, type SessionAnswer } from './typed-result.js';

export interface EverlapClientOptions {
  /** A Temporal client that exists already. It stays yours to close. */
  readonly client: Client;
  /** Where workers poll. Default `everlap`. */
  readonly taskQueue?: string;
}

export interface ConnectOptions {
  readonly address?: string;
  readonly namespace?: string;
  readonly taskQueue?: string;
  /** As the workers have it: without it, large payloads of a run cannot be read. */
  readonly externalStorage?: ExternalStorage;
}

export interface StartOptions {
  /** The agent, or its name. */
  readonly agent: AgentDefinition | string;
  readonly task: string;
  /** The run's id: the Temporal workflow id. Default: the agent's name and something random. */
  readonly id?: string;
  readonly settings?: RunSettings;
  readonly taskQueue?: string;
  /** Anything else that Temporal takes for a start: id reuse and conflict policies, memo, timeouts. */
  readonly workflow?: Omit<WorkflowStartOptions<Workflow>, 'args' | 'taskQueue' | 'workflowId'>;
}

/** The result of its run is typed. */
export interface StartWithOutput<Output> extends StartOptions {
  readonly agent: AgentWithOutput<Output>;
}

interface Steered {
  readonly steer: TextArgument;
}

export interface StartWithFollowUp extends Omit<StartOptions, 'task'> {
  readonly task?: string;
  /** The message: a text, or with an id of your own, under which it counts once. */
  readonly followUp: TextArgument;
}

/** The answer to a message, and the run that gave it. */
export type Answered<Output = string | null> = SessionAnswer<Output> & { readonly run: RunHandle<Output> };

export interface ListOptions {
  readonly agent?: string;
  /** `running`, `paused`, `completed`, … Needs the search attributes (`everlap setup`). */
  readonly status?: string;
  /** Runs at most. Default 100. */
  readonly limit?: number;
  /** More of Temporal's list filter, joined with AND. */
  readonly query?: string;
}

export interface RunListing {
  readonly id: string;
  /** Temporal's own status, e.g. RUNNING, COMPLETED. */
  readonly temporalStatus: string;
  /** Where the namespace has the search attributes. */
  readonly agent?: string;
  readonly status?: string;
  readonly reason?: string;
  readonly startedAt: Date;
  readonly closedAt?: Date;
}

export class EverlapClient {
  readonly temporal: Client;
  private readonly taskQueue: string;
  private readonly close_: () => Promise<void>;

  constructor(options: EverlapClientOptions, close: () => Promise<void> = async () => undefined) {
    this.temporal = options.client;
    this.taskQueue = options.taskQueue ?? DEFAULT_TASK_QUEUE;
    this.close_ = close;
  }

  /**
   * A client with a connection of its own, by Temporal's environment configuration (profiles, TEMPORAL_ADDRESS, API key,
   * mTLS) unless told otherwise. Close it when done.
   * @throws Error where no server answers within 10 seconds, the environment configuration cannot be read, or external storage
   * cannot work as the packages are installed.
   */
  static async connect(options: ConnectOptions = {}): Promise<EverlapClient> {
    const { externalStorage } = options;
    if (externalStorage !== undefined) checkOneProtobuf();
    const environment = temporalEnvironment();
    const connection = await connectTo({
      ...environment.connectionOptions,
      ...(options.address !== undefined && { address: options.address }),
    });
    const namespace = options.namespace ?? environment.namespace ?? 'default';
    const client = new Client({
      connection,
      namespace,
      ...(externalStorage && { dataConverter: { externalStorage } }),
    });
    return new EverlapClient({ client, ...(options.taskQueue && { taskQueue: options.taskQueue }) }, () =>
      connection.close(),
    );
  }

  /**
   * Starts a run and returns at once. Under the id of a run that has ended, a new one starts (`workflow` may forbid that,
   * by Temporal's `workflowIdReusePolicy`).
   * @throws WorkflowExecutionAlreadyStartedError where an open run has the id, RunArgumentError for an empty id.
   */
  async start<Output>(options: StartWithOutput<Output>): Promise<RunHandle<Output>>;
  async start(options: StartOptions): Promise<RunHandle>;
  async start(options: StartOptions): Promise<RunHandle<unknown>> {
    const handle = await this.temporal.workflow.start(WORKFLOW_TYPE, this.startOptions(options));
    return this.handleFor(handle.workflowId, options.agent);
  }

  /**
   * Starts a run with a first steering, or steers it where one of this id runs already, in one request.
   * @throws RunArgumentError for a steering that is none, or an empty id.
   */
  async startWithSteer<Output>(options: StartWithOutput<Output> & Steered): Promise<RunHandle<Output>>;
  async startWithSteer(options: StartOptions & Steered): Promise<RunHandle>;
  async startWithSteer(options: StartOptions & Steered): Promise<RunHandle<unknown>> {
    checkText('steer', options.steer);
    const handle = await this.temporal.workflow.signalWithStart(WORKFLOW_TYPE, {
      ...this.startOptions(options),
      signal: 'steer',
      signalArgs: [options.steer],
    });
    return this.handleFor(handle.workflowId, options.agent);
  }

  /**
   * Says something in a session and waits for the answer, in one request: to the run of this id where it is there, else
   * to a new one. `task` is for a new run only, and may be left out: the message is the first one then.
   * A run that ends before it takes the message is followed by a new one, which does. Of an agent with `output`, the answer
   * is the parsed value where `reason` is `answered`.
   * @throws RunEndedError where the run fails before it takes the message, RunArgumentError for a message that is none, or
   * an empty id.
   */
  async startWithFollowUp<Output>(
    options: StartWithFollowUp & { readonly agent: AgentWithOutput<Output> },
  ): Promise<Answered<Output>>;
  async startWithFollowUp(options: StartWithFollowUp): Promise<Answered>;
  async startWithFollowUp({ followUp, task = '', ...options }: StartWithFollowUp): Promise<Answered<unknown>> {
    const start = this.startOptions({ ...options, task });
    const answered = await startWithFollowUp(this.temporal, start, followUp);
    const { workflowId } = start;
    const typed = await typedAnswer(workflowId, answered, outputOf(options.agent));
    return { ...typed, run: this.handleFor(workflowId, options.agent) };
  }

  /**
   * A handle of a run that was started anywhere; nothing is asked of the server yet. With its agent, the result is typed.
   * @throws RunArgumentError for an empty id.
   */
  handle<Output>(id: string, agent: AgentWithOutput<Output>): RunHandle<Output>;
  handle(id: string, agent?: AgentDefinition | string): RunHandle;
  handle(id: string, agent?: AgentDefinition | string): RunHandle<unknown> {
    return this.handleFor(checkId(id), agent);
  }

  /** Runs, newest first. */
  async *list(options: ListOptions = {}): AsyncIterable<RunListing> {
    const filters = [`WorkflowType = '${WORKFLOW_TYPE}'`];
    if (options.agent !== undefined) filters.push(`EverlapAgent = ${quoted(options.agent)}`);
    if (options.status !== undefined) filters.push(`EverlapStatus = ${quoted(options.status)}`);
    if (options.query !== undefined) filters.push(`(${options.query})`);
    let left = options.limit ?? 100;
    if (left < 1) return;
    for await (const execution of this.temporal.workflow.list({
      query: filters.join(' AND '),
      pageSize: Math.min(left, 200),
    })) {
      yield listing(execution);
      if ((left -= 1) === 0) return;
    }
  }

  /** Closes the connection that {@link connect} made. */
  close(): Promise<void> {
    return this.close_();
  }

  private handleFor(id: string, agent: AgentDefinition | string | undefined): RunHandle<unknown> {
    return new RunHandle(this.temporal, id, outputOf(agent));
  }

  private startOptions({ agent, task, id, settings, taskQueue, workflow }: StartOptions) {
    const name = typeof agent === 'string' ? agent : agent.name;
    const input: AgentRunInput = { agent: name, task, ...(settings && { settings }) };
    return {
      staticSummary: `${name}: ${oneLine(task, 100)}`,
      ...workflow,
      args: [input],
      taskQueue: taskQueue ?? this.taskQueue,
      workflowId: id === undefined ? `${name}-${randomUUID()}` : checkId(id),
    };
  }
}

function outputOf(agent: AgentDefinition | string | undefined): AgentOutput | undefined {
  return typeof agent === 'object' ? agent.output : undefined;
}

function listing({ workflowId, status, searchAttributes, startTime, closeTime }: WorkflowExecutionInfo): RunListing {
  // The typed form wants keys; the plain one is what a list answers with.
  const keyword = (name: string): string | undefined => {
    const value: unknown = searchAttributes[name]?.[0];
    return typeof value === 'string' ? value : undefined;
  };
  const agent = keyword('EverlapAgent');
  const ownStatus = keyword('EverlapStatus');
  const reason = keyword('EverlapReason');
  return {
    id: workflowId,
    temporalStatus: status.name,
    ...(agent !== undefined && { agent }),
    ...(ownStatus !== undefined && { status: ownStatus }),
    ...(reason !== undefined && { reason }),
    startedAt: startTime,
    ...(closeTime && { closedAt: closeTime }),
  };
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
