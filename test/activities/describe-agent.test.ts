import { ApplicationFailure } from '@temporalio/common';
import { defineAgent, defineTool, type AgentOptions } from 'everlap';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { describeAgent } from '../../src/activities/describe-agent.js';
import { RunCache } from '../../src/activities/run-cache.js';

const tool = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.object({ at: z.string() }),
  effects: 'none',
  timeout: '2 minutes',
  approval: () => true,
  execute: () => '',
});
const base: AgentOptions = {
  name: 'clerk',
  instructions: 'Be brief.',
  model: { name: 'gpt-5-mini', attempts: 2, idleTimeout: '5 seconds' },
  limits: { turns: 7, tokens: 1000 },
  context: { keepTurns: 9 },
  laps: { max: 3, until: { promise: 'DONE' } },
  tools: [tool],
};
const cache = new RunCache(1000);

async function specOf(input: object = {}, options: Partial<AgentOptions> = {}, prices = {}) {
  const agents = new Map([['clerk', defineAgent({ ...base, ...options })]]);
  const dependencies = {
    agents,
    prices,
    cache,
    searchAttributes: async () => Promise.resolve(true),
    storesLargePayloads: () => false,
  };
  const spec = await describeAgent(dependencies, { agent: 'clerk', task: 'Do it.', ...input });
  if ('mcp' in spec) throw new Error('it asks for tools of MCP servers, which this agent has none of');
  return spec;
}
async function refusal(...args: Parameters<typeof specOf>): Promise<ApplicationFailure> {
  const error: unknown = await specOf(...args).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ApplicationFailure)) throw new Error('it was not refused', { cause: error });
  return error;
}

describe('the spec', () => {
  test('has defaults filled in, durations in milliseconds, window and prices looked up', async () => {
    expect(await specOf()).toMatchObject({
      name: 'clerk',
      model: { name: 'gpt-5-mini', attempts: 2, idleTimeoutMs: 5000, firstEventTimeoutMs: 120_000, timeoutMs: 600_000 },
      fallbackModels: [],
      limits: { turns: 7, tokens: 1000 },
      onLimit: 'stop',
      stuckWindow: 3,
      context: { keepTurns: 9, compactAt: 0.8 },
      heartbeatTimeoutMs: 10_000,
      prices: { 'gpt-5-mini': { input: 0.25, output: 2 } },
      laps: { max: 3, handoff: 'workspace', maxFailed: 2, spec: 'pinned' },
      searchAttributes: true,
      tools: expect.arrayContaining([
        expect.objectContaining({ name: 'look', approval: 'ask', timeoutMs: 120_000, effects: 'none', attempts: 3 }),
      ]) as unknown,
    });
  });

  test('is plain data, known to the worker by its hash, which nothing but its fields decides', async () => {
    const spec = await specOf();
    expect(JSON.parse(JSON.stringify(spec))).toEqual(spec);
    expect(cache.spec(spec.hash)).toEqual(spec);
    expect((await specOf()).hash).toBe(spec.hash);
    expect((await specOf({ task: 'Something else.' })).hash).toBe(spec.hash);
    expect((await specOf({}, { instructions: 'Be long.' })).hash).not.toBe(spec.hash);
    expect((await specOf({ settings: { limits: { turns: 8 } } })).hash).not.toBe(spec.hash);
  });
});

describe('settings', () => {
  test('a model by name keeps the other fields; a model by fields keeps the rest', async () => {
    expect((await specOf({ settings: { model: 'gpt-4.1-mini' } })).model).toMatchObject({
      name: 'gpt-4.1-mini',
      attempts: 2,
      idleTimeoutMs: 5000,
    });
    expect((await specOf({ settings: { model: { name: 'gpt-5-mini', attempts: 9 } } })).model).toMatchObject({
      attempts: 9,
      idleTimeoutMs: 5000,
    });
  });

  test('limits and context are merged field by field; lists and laps are replaced', async () => {
    const settings = {
      limits: { tokens: 5, duration: '1 hour' },
      context: { window: 2000 },
      fallbackModels: ['gpt-4.1-nano'],
      laps: null,
      stuckWindow: 5,
    };
    const spec = await specOf({ settings });
    expect(spec).toMatchObject({
      limits: { turns: 7, tokens: 5, durationMs: 3_600_000 },
      context: { window: 2000, keepTurns: 9 },
      fallbackModels: ['gpt-4.1-nano'],
      stuckWindow: 5,
    });
    expect(spec.laps).toBeUndefined();
  });

  test.each<[string, object, RegExp]>([
    ['an unknown field', { modle: 'x' }, /modle/],
    ['an unknown limit', { limits: { turn: 3 } }, /turn/],
    ['an unknown field of the model', { model: { name: 'm', key: 'sk-123' } }, /key/],
    ['a limit below 1', { limits: { turns: 0 } }, /turns/],
    ['a duration that is none', { limits: { duration: 'soon' } }, /limits\.duration is "soon"/],
    ['a timeout that is none', { model: { name: 'm', idleTimeout: 'never' } }, /model\.idleTimeout/],
    ['a text', 'fast' as unknown as object, /settings/],
    ['a window too small', { context: { window: 1 } }, /window/],
    ['instructions, which are not for one run', { instructions: 'Obey.' }, /instructions/],
    ['tools, which are not for one run', { tools: [] }, /tools/],
  ])('%s is refused, at once and with its name', async (_, settings, said) => {
    const { type, nonRetryable, message } = await refusal({ settings });
    expect({ type, nonRetryable }).toEqual({ type: 'bad_request', nonRetryable: true });
    expect(message).toMatch(said);
  });
});

describe('input', () => {
  test.each<[string, object, string, RegExp]>([
    [
      'an agent that is not there',
      { agent: 'clark' },
      'unknown_agent',
      /no agent "clark" on this worker; it has: clerk/,
    ],
    ['an agent of the prototype', { agent: '__proto__' }, 'unknown_agent', /no agent "__proto__"/],
    ['no task', { task: undefined }, 'bad_request', /task/],
    ['an empty task', { task: ' \n' }, 'bad_request', /is empty/],
    ['a task that is no text', { task: 7 }, 'bad_request', /task/],
    ['no agent', { agent: undefined }, 'bad_request', /agent/],
  ])('%s is refused', async (_, input, type, said) => {
    expect(await refusal(input)).toMatchObject({
      type,
      nonRetryable: true,
      message: expect.stringMatching(said) as unknown,
    });
  });
});

describe('a usd limit', () => {
  const limits = { usd: 1 };
  test('is kept where every model has a price', async () => {
    expect((await specOf({ settings: { limits, fallbackModels: ['gpt-4.1-nano'] } })).limits).toMatchObject(limits);
  });

  test.each<[string, object]>([
    ['of the model', { model: 'home-made' }],
    ['of a fallback', { fallbackModels: ['home-made'] }],
    ['of the summariser', { context: { compactModel: 'home-made' } }],
  ])('is refused where the price %s is not known', async (_, settings) => {
    const { type, message } = await refusal({ settings: { limits, ...settings } });
    expect(type).toBe('bad_request');
    expect(message).toMatch(/limits\.usd cannot be kept, since the price of home-made is not known\. Give its price/);
  });

  test('takes a price of the config, which goes before the list', async () => {
    const prices = { 'home-made': { input: 1, output: 2 }, 'gpt-5-mini': { input: 100, output: 200 } };
    const spec = await specOf({ settings: { limits, fallbackModels: ['home-made'] } }, {}, prices);
    expect(spec.prices).toEqual(prices);
  });
});
