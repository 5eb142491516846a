/** The compaction activity alone: its heads, its summaries, and that it fails only where another attempt may help. */
import type { Client } from '@temporalio/client';
import { ActivityCancellationDetails, ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { ModelFailure, type ModelAnswer, type ModelRequest } from 'everlap';
import { describe, expect, test } from 'vitest';
import { compactConversation } from '../../src/activities/compact-conversation.js';
import { extendHash } from '../../src/activities/conversation-hash.js';
import { RunCache } from '../../src/activities/run-cache.js';
import type { AgentSpec } from '../../src/agents/spec.js';
import {
  MAX_SUMMARY_ATTEMPTS,
  UNKNOWN_HEAD,
  WORKER_SHUTDOWN,
  type CompactInput,
  type CompactOutput,
} from '../../src/agents/wire.js';
import { applyCompaction, previousSummary } from '../../src/conversation/compaction.js';
import type { Message } from '../../src/conversation/message.js';
import { estimateMessages } from '../../src/conversation/estimate.js';

const spec: AgentSpec = {
  hash: 'spec',
  name: 'clerk',
  instructions: 'Be brief.',
  model: { name: 'm', attempts: 2, timeoutMs: 10_000, firstEventTimeoutMs: 5000, idleTimeoutMs: 5000 },
  fallbackModels: [],
  tools: [],
  limits: {},
  onLimit: 'stop',
  mode: 'ask',
  stuckWindow: 3,
  context: { window: 8000, compactAt: 0.8, keepTurns: 2 },
  toolResult: { maxChars: 1000 },
  heartbeatTimeoutMs: 10_000,
  prices: {},
  searchAttributes: false,
  storesLargePayloads: false,
};
const messages: readonly Message[] = [
  { role: 'user', kind: 'task', text: 'Do it.' },
  ...Array.from({ length: 12 }, (_, n): Message[] => [
    { role: 'assistant', text: '', toolCalls: [{ id: `c${n}`, name: 'f', arguments: '{}' }] },
    { role: 'tool', callId: `c${n}`, name: 'f', text: `${n}:`.padEnd(2000, 'r') },
  ]).flat(),
];
const input: CompactInput = {
  spec: 'spec',
  lap: 1,
  turn: 13,
  base: { hash: '', length: 0 },
  delta: messages,
  model: 'm',
  targetTokens: 3000,
};
const saying = (text: string): ModelAnswer => ({
  message: { role: 'assistant', text },
  usage: { input: 9, output: 3 },
  finish: 'end',
});

interface Options {
  readonly answer?: (request: ModelRequest) => Promise<ModelAnswer>;
  readonly attempt?: number;
  readonly cache?: RunCache;
  readonly client?: Client;
  readonly during?: (environment: MockActivityEnvironment, stop: () => void) => void;
}

async function compact(more: Partial<CompactInput> = {}, options: Options = {}): Promise<CompactOutput> {
  const { answer = () => Promise.resolve(saying('Much was done.')), attempt = 1, during, client } = options;
  const cache = options.cache ?? new RunCache(1e7);
  cache.keepSpec(spec);
  const stopping = new AbortController();
  const environment = new MockActivityEnvironment(
    { attempt, heartbeatTimeoutMs: 10_000 },
    { logger: new DefaultLogger('ERROR'), ...(client && { client }) },
  );
  const provider = {
    name: 'test',
    answer: (request: ModelRequest) => {
      during?.(environment, () => stopping.abort());
      return answer(request);
    },
  };
  const output: unknown = await environment.run(() =>
    compactConversation({ provider, cache, shutdown: stopping.signal }, { ...input, ...more }),
  );
  return output as CompactOutput;
}
const failureOf = (promise: Promise<unknown>) => promise.then(undefined, (error: unknown) => error);
const failing = (failureClass: ModelFailure['failureClass']) => () =>
  Promise.reject(new ModelFailure(failureClass, `It is ${failureClass}.`));
const hanging = ({ signal }: ModelRequest) =>
  new Promise<ModelAnswer>((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));

describe('a summary', () => {
  test('takes the place of older turns; the worker knows what comes of it under the head that it gives', async () => {
    const cache = new RunCache(1e7);
    const { plan, head, usage, problem } = await compact({}, { cache });
    const after = applyCompaction(messages, plan);
    expect(previousSummary(after)).toBe('Much was done.');
    expect(after.slice(-4)).toEqual(messages.slice(-4));
    expect(head).toBe(extendHash('', after));
    expect(cache.conversation(head ?? '')).toEqual(after);
    expect(usage).toEqual({ input: 9, output: 3 });
    expect(problem).toBeUndefined();
  });

  test('is asked for in one message, as data, without tools, within the window', async () => {
    let asked: ModelRequest | undefined;
    await compact({}, { answer: (request) => Promise.resolve(((asked = request), saying('Much.'))) });
    expect(asked?.tools).toEqual([]);
    expect(asked?.messages).toHaveLength(1);
    expect(asked?.messages[0]?.text).toMatch(
      /\[The task\] Do it\.[^]*\[The agent calls f\] \{\}[^]*\[Result of f\] 0:rrr/,
    );
    expect(estimateMessages(asked?.messages ?? [])).toBeLessThan(0.7 * spec.context.window);
  });

  test('of 3 MB is cut', async () => {
    const { plan } = await compact({}, { answer: () => Promise.resolve(saying('word '.repeat(600_000))) });
    expect(estimateMessages(applyCompaction(messages, plan))).toBeLessThanOrEqual(input.targetTokens);
  });

  test('is not asked for where nothing goes', async () => {
    const answer = failing('auth');
    const { plan, problem, head } = await compact({ targetTokens: 100_000 }, { answer });
    expect(applyCompaction(messages, plan)).toEqual(messages);
    expect(problem).toBeUndefined();
    expect(head).toBe(extendHash('', messages));
  });

  test('by a model that tells no usage: an estimate', async () => {
    const { usage } = await compact({}, { answer: () => Promise.resolve({ ...saying('Much.'), usage: null }) });
    expect(usage).toMatchObject({ estimated: true });
    expect(usage?.input).toBeGreaterThan(1000);
  });
});

describe('without a summary', () => {
  test.each(['auth', 'quota', 'bad_request', 'content_filter', 'overflow'] as const)('%s: at once', async (which) => {
    const { plan, problem, head } = await compact({}, { answer: failing(which) });
    expect(problem).toBe(`It is ${which}.`);
    expect(plan).toMatchObject({ unsummarised: true });
    expect(head).toBe(extendHash('', applyCompaction(messages, plan)));
  });

  test.each<[string, Required<Options>['answer']]>([
    ['a failure that may pass', failing('transient')],
    ['no answer', () => Promise.resolve(saying(' \n'))],
  ])('%s: tried again, and done without at the last attempt', async (_, answer) => {
    const first = await failureOf(compact({}, { answer }));
    expect(first).toBeInstanceOf(ApplicationFailure);
    expect(first).toMatchObject({ type: 'transient', nonRetryable: false });
    expect(await compact({}, { answer, attempt: MAX_SUMMARY_ATTEMPTS })).toMatchObject({
      plan: { unsummarised: true },
    });
  });
});

describe('another worker goes on', () => {
  test('a shutdown costs no summary, not even at the last attempt', async () => {
    const options: Options = { answer: hanging, attempt: MAX_SUMMARY_ATTEMPTS, during: (_, stop) => stop() };
    expect(await failureOf(compact({}, options))).toMatchObject({ type: WORKER_SHUTDOWN });
  });

  test('a cancellation is one', async () => {
    const options: Options = {
      answer: hanging,
      during: (environment) =>
        environment.cancel('CANCELLED', new ActivityCancellationDetails({ cancelRequested: true })),
    };
    expect(await failureOf(compact({}, options))).toBeInstanceOf(CancelledFailure);
  });

  test('a head that the run’s messages do not have is told, for the run to send them anew', async () => {
    const page = { messages, from: 0, total: messages.length, next: null, lap: 1, head: input.base };
    const handle = { query: () => Promise.resolve(page) };
    const client = {
      workflow: { getHandle: () => handle },
      withAbortSignal: <T>(_: AbortSignal, ask: () => T): T => ask(),
    } as unknown as Client;
    const base = { hash: 'of other code', length: messages.length };
    expect(await failureOf(compact({ base, delta: [] }, { client }))).toMatchObject({
      type: UNKNOWN_HEAD,
      nonRetryable: true,
    });
    const right = { hash: extendHash('', messages), length: messages.length };
    expect(await compact({ base: right, delta: [] }, { client })).toMatchObject({
      plan: { summary: 'Much was done.' },
    });
  });
});
