/** The activity's envelope: its heads, its cache, its failures. Providers are tried in test/scenarios. */
import { ActivityCancellationDetails, ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { ModelFailure, type ModelAnswer, type ModelRequest } from 'everlap';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { retryDelay } from '../../src/activities/ask-provider.js';
import { callModel } from '../../src/activities/call-model.js';
import { extendHash } from '../../src/activities/conversation-hash.js';
import { RunCache } from '../../src/activities/run-cache.js';
import type { AgentSpec } from '../../src/agents/spec.js';
import type { CallModelInput, CallModelOutput } from '../../src/agents/wire.js';
import type { Message } from '../../src/conversation/message.js';

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
  context: { window: 1000, compactAt: 0.8, keepTurns: 4 },
  toolResult: { maxChars: 1000 },
  heartbeatTimeoutMs: 10_000,
  prices: {},
  searchAttributes: false,
  storesLargePayloads: false,
};
const task: Message = { role: 'user', kind: 'task', text: 'Do it.' };
const input: CallModelInput = {
  spec: 'spec',
  lap: 1,
  turn: 1,
  base: { hash: '', length: 0 },
  delta: [task],
  model: 'm',
};
const hi: ModelAnswer = { message: { role: 'assistant', text: 'Hi.' }, usage: { input: 3, output: 1 }, finish: 'end' };

interface Options {
  readonly answer?: (request: ModelRequest) => Promise<ModelAnswer>;
  readonly cache?: RunCache;
  readonly attempt?: number;
  readonly during?: (environment: MockActivityEnvironment, stop: () => void) => void;
}

async function call(more: Partial<CallModelInput> = {}, options: Options = {}): Promise<CallModelOutput> {
  const { answer = async () => Promise.resolve(hi), cache = new RunCache(1e6), attempt = 1, during } = options;
  cache.keepSpec(spec);
  const stopping = new AbortController();
  const environment = new MockActivityEnvironment(
    { attempt, heartbeatTimeoutMs: 10_000 },
    { logger: new DefaultLogger('ERROR') },
  );
  const provider = {
    name: 'test',
    answer: (request: ModelRequest) => {
      during?.(environment, () => stopping.abort());
      return answer(request);
    },
  };
  const output: unknown = await environment.run(() =>
    callModel({ provider, cache, shutdown: stopping.signal }, { ...input, ...more }),
  );
  return output as CallModelOutput;
}
const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );
const hanging = ({ signal }: ModelRequest) =>
  new Promise<ModelAnswer>((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));

describe('an answer', () => {
  test('has the head over base, delta and message; the envelope has nothing more than it must', async () => {
    const { message, usage, head, ...more } = await call();
    expect(message).toEqual({ role: 'assistant', text: 'Hi.' });
    expect(usage).toEqual({ input: 3, output: 1 });
    expect(head).toBe(extendHash('', [task, message]));
    expect(more).toEqual({});
  });

  test('can be built on by its head alone, and built on again', async () => {
    const cache = new RunCache(1e6);
    const first = await call({}, { cache });
    const delta: Message[] = [{ role: 'user', kind: 'steering', text: 'More.' }];
    let seen: readonly Message[] = [];
    const answer = async ({ messages }: ModelRequest) => {
      seen = messages;
      return Promise.resolve(hi);
    };
    const second = await call({ base: { hash: first.head, length: 2 }, delta, turn: 2 }, { cache, answer });
    const again = await call({ base: { hash: first.head, length: 2 }, delta, turn: 2 }, { cache, answer });
    expect(seen).toEqual([task, first.message, ...delta]);
    expect(again.head).toBe(second.head);
    expect(second.head).toBe(extendHash('', [...seen, second.message]));
    expect(cache.misses).toBe(0);
  });

  test('names its model where it is not the first choice, in the hash as well', async () => {
    const { message, head } = await call({ model: 'other' });
    expect(message).toEqual({ role: 'assistant', text: 'Hi.', model: 'other' });
    expect(head).toBe(extendHash('', [task, message]));
  });

  test('says where it was cut, and estimates usage that nobody told', async () => {
    const output = await call({}, { answer: async () => Promise.resolve({ ...hi, finish: 'length', usage: null }) });
    expect(output).toMatchObject({ finish: 'length', usage: { estimated: true } });
    expect(output.usage.input).toBeGreaterThan(0);
  });

  test('is asked for with what spec and input say', async () => {
    let seen: ModelRequest | undefined;
    const answer = async (request: ModelRequest) => {
      seen = request;
      return Promise.resolve(hi);
    };
    await call({ tools: 'none', maxOutputTokens: 7 }, { answer });
    expect(seen).toMatchObject({ model: 'm', instructions: 'Be brief.', toolChoice: 'none', maxOutputTokens: 7 });
    expect(seen).not.toHaveProperty('parameters');
  });
});

describe('a failure', () => {
  test.each(['transient', 'stalled'] as const)('%s is tried again', async (failureClass) => {
    const error = await failureOf(call({}, { answer: () => Promise.reject(new ModelFailure(failureClass, 'no')) }));
    expect(error).toMatchObject({ type: failureClass, nonRetryable: false, message: 'no' });
  });

  test.each(['auth', 'quota', 'bad_request', 'content_filter', 'overflow'] as const)(
    '%s is final',
    async (failureClass) => {
      const error = await failureOf(call({}, { answer: () => Promise.reject(new ModelFailure(failureClass, 'no')) }));
      expect(error).toMatchObject({ type: failureClass, nonRetryable: true });
    },
  );

  test('waits as long as the server asked for', async () => {
    const failure = new ModelFailure('transient', 'no', { retryAfterMs: 7000 });
    const error = await failureOf(call({}, { answer: () => Promise.reject(failure) }));
    expect(error).toMatchObject({ nextRetryDelay: 7000 });
  });

  test('of a worker that shuts down says which attempt does not count', async () => {
    const error = await failureOf(call({}, { attempt: 3, answer: hanging, during: (_, stop) => stop() }));
    expect(error).toMatchObject({ type: 'worker_shutdown', nonRetryable: true, details: [3] });
  });

  test('of a cancelled call is the cancellation; of a worker past its grace, a shutdown', async () => {
    const cancelled = await failureOf(call({}, { answer: hanging, during: ({ cancel }) => cancel() }));
    expect(cancelled).toBeInstanceOf(CancelledFailure);
    const details = new ActivityCancellationDetails({ workerShutdown: true });
    const late = await failureOf(
      call({}, { answer: hanging, during: ({ cancel }) => cancel('WORKER_SHUTDOWN', details) }),
    );
    expect(late).toBeInstanceOf(ApplicationFailure);
    expect(late).toMatchObject({ type: 'worker_shutdown' });
  });

  test('an answer that comes with the abort is none', async () => {
    const error = await failureOf(call({}, { during: (_, stop) => stop() }));
    expect(error).toMatchObject({ type: 'worker_shutdown' });
  });
});

describe('retryDelay', () => {
  test.each<[number | undefined, number | undefined, number | undefined]>([
    [undefined, undefined, undefined],
    [undefined, 5000, undefined],
    [Number.NaN, undefined, undefined],
    [0, undefined, 500],
    [-5000, undefined, 500],
    [2000, undefined, 2000],
    [2000, 10_000, 2000],
    // Past the deadline: the run ends there, before it would be asked again.
    [60_000, 10_000, 15_000],
    [60_000, -10_000, 500],
    [Infinity, undefined, 86_400_000],
    [9e15, undefined, 86_400_000],
  ])('%s, deadline in %s: %s', (asked, left, delay) => {
    expect(retryDelay(asked, left === undefined ? undefined : 1000 + left, 1000)).toBe(delay);
  });

  test('is always something that Temporal takes', () => {
    fc.assert(
      fc.property(fc.double(), fc.option(fc.integer(), { nil: undefined }), (asked, deadline) => {
        const delay = retryDelay(asked, deadline, 0) ?? 500;
        expect(delay).toBeGreaterThanOrEqual(500);
        expect(delay).toBeLessThanOrEqual(86_400_000);
      }),
    );
  });
});
