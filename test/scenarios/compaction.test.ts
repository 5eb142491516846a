/** SCENARIOS 34 and 41: conversations that grow too long, by Everlap's estimate and by the provider's word. */
import { defineTool } from 'everlap';
import {
  answer,
  call,
  httpError,
  inStreamError,
  raw,
  text,
  textOf,
  type RecordedRequest,
  type Step,
} from 'everlap/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { completed, eventsOf } from '../support/history.js';
import { startRig, type Rig, type RigOptions } from '../support/rig.js';

let rig: Rig;
afterEach(() => rig.stop());

const TASK = 'Read the pages.';
const read = defineTool({
  name: 'read_page',
  description: 'Reads a page.',
  input: z.object({ page: z.number() }),
  effects: 'none',
  execute: ({ page }) => `${page}:`.padEnd(4000, 'x'),
});

const wantsSummary = ({ messages }: RecordedRequest): boolean =>
  textOf(messages[0]).startsWith('You write the summary');
const texts = ({ messages }: RecordedRequest): string => messages.map(textOf).join('\n');
const isPlain = (request: RecordedRequest): boolean => !wantsSummary(request);
const summaryRequests = (): RecordedRequest[] => rig.model.requests.filter(wantsSummary);

/** An agent that reads so many pages and then answers; a window that takes about ten of them. */
async function readPages(pages: number, { summary, ...options }: RigOptions & { summary?: Step } = {}) {
  let turns = 0;
  rig = await startRig({
    script: (request) => {
      if (wantsSummary(request)) return summary ?? text(`Pages up to ${turns} were read.`);
      turns += 1;
      return turns <= pages ? call('read_page', { page: turns }) : text('All read.');
    },
    ...options,
    agent: { tools: [read], context: { window: 12_000, keepTurns: 2 }, ...options.agent },
  });
  const run = await rig.start({ task: TASK });
  return { run, result: await run.result() };
}

describe('by estimate', () => {
  test('again and again: the task, the newest turns and one newest summary; each request fits the window', async () => {
    const { run, result } = await readPages(30);
    expect(result).toMatchObject({ status: 'completed', output: 'All read.', turns: 31 });
    const state = await run.state();
    expect(state.compactions).toBeGreaterThanOrEqual(2);
    expect(summaryRequests()).toHaveLength(state.compactions);
    for (const request of rig.model.requests.filter(isPlain)) {
      expect(textOf(request.messages[1])).toBe(TASK);
      expect(texts(request).split('[SUMMARY]').length).toBeLessThanOrEqual(2);
      expect(request.bodyChars / 3.5).toBeLessThan(12_000);
    }
    // The newer summary was written with the older one before it.
    expect(texts(summaryRequests().at(-1) ?? rig.model.requests[0]!)).toContain('Summary of what was before');
    expect(state.lastError).toBeNull();
    // No message travels twice: the worker knew the compacted conversation.
    const events = await eventsOf(rig.temporal, run.id);
    expect(completed(events, 'compactConversation')).toBe(state.compactions);
  });

  test('what people said while it worked is still there, word for word', async () => {
    let turns = 0;
    rig = await startRig({
      script: async (request) => {
        if (wantsSummary(request)) return text('Some pages were read.');
        turns += 1;
        if (turns <= 12) await run.steer(`Mind number ${turns}.`);
        return turns <= 25 ? call('read_page', { page: turns }) : text('All read.');
      },
      agent: { tools: [read], context: { window: 12_000, keepTurns: 2 } },
    });
    const run = await rig.start({ task: TASK });
    expect(await run.result()).toMatchObject({ status: 'completed' });
    const last = texts(rig.model.requests.at(-1)!);
    for (let turn = 1; turn <= 12; turn += 1) expect(last.split(`[STEERING] Mind number ${turn}.`)).toHaveLength(2);
    expect((await run.state()).compactions).toBeGreaterThan(0);
  });

  test('usage counts the summaries, a model of their own writes them', async () => {
    const { result } = await readPages(12, {
      agent: { context: { window: 12_000, keepTurns: 2, compactModel: 'small' } },
      summary: text('Read.', { usage: { prompt_tokens: 1_000_000, completion_tokens: 1 } }),
    });
    expect(summaryRequests()).not.toHaveLength(0);
    for (const request of rig.model.requests)
      expect(request.body.model).toBe(wantsSummary(request) ? 'small' : 'gpt-5-mini');
    expect(summaryRequests().every(({ body }) => body.tools === undefined)).toBe(true);
    expect(result.usage.input).toBeGreaterThanOrEqual(1_000_000 * summaryRequests().length);
    expect(result.costUsd).toBeNull();
  });

  test('a worker that knows nothing takes over after a compaction', async () => {
    let turns = 0;
    rig = await startRig({
      startWorker: false,
      script: async (request) => {
        if (wantsSummary(request)) return text('Some pages were read.');
        turns += 1;
        return turns <= 20 ? call('read_page', { page: turns }) : text('All read.');
      },
      agent: { tools: [read], context: { window: 12_000, keepTurns: 2 } },
    });
    // So small a cache holds no conversation: each call asks the run.
    await rig.startWorker({ cacheBytes: 1 });
    const run = await rig.start({ task: TASK });
    expect(await run.result()).toMatchObject({ status: 'completed', turns: 21 });
    expect((await run.state()).compactions).toBeGreaterThan(0);
  });
});

describe('without a summary the run goes on, and says so', () => {
  test.each<[string, Step]>([
    ['a refused key', httpError(401)],
    ['a refused request', httpError(400)],
    ['a record that is too long for every try', httpError(413)],
  ])('%s', async (_, summary) => {
    const { run, result } = await readPages(14, { summary });
    expect(result).toMatchObject({ status: 'completed', output: 'All read.' });
    const state = await run.state();
    expect(state.lastError).toMatch(/^The conversation was shortened without a summary: /);
    const last = texts(rig.model.requests.filter(isPlain).at(-1)!);
    expect(last).toContain('[EARLIER TURNS LEFT OUT]');
    expect(last).toContain(TASK);
  });

  test('no answer at all is asked for again, then done without', async () => {
    const { run, result } = await readPages(9, { summary: answer() });
    expect(result).toMatchObject({ status: 'completed' });
    expect(summaryRequests()).toHaveLength(4 * (await run.state()).compactions);
  });

  test('a record that is too long is halved until it fits', async () => {
    let turns = 0;
    rig = await startRig({
      script: (request) => {
        if (wantsSummary(request)) return request.bodyChars > 12_000 ? httpError(413) : text('Read in part.');
        turns += 1;
        return turns <= 9 ? call('read_page', { page: turns }) : text('All read.');
      },
      agent: { tools: [read], context: { window: 12_000, keepTurns: 2 } },
    });
    const run = await rig.start({ task: TASK });
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(texts(rig.model.requests.at(-1)!)).toContain('Read in part.');
    expect((await run.state()).lastError).toBeNull();
  });

  test('a token limit that leaves no room for one', async () => {
    const { run, result } = await readPages(30, { agent: { limits: { tokens: 60_000 } } });
    expect(result).toMatchObject({ status: 'exhausted', reason: 'max_tokens' });
    expect((await run.state()).usage.input).toBeLessThanOrEqual(60_000);
  });
});

/** As servers word it; each comes after eight pages, whatever window the agent believes in. */
const OVERFLOWS: readonly (readonly [string, Step])[] = [
  [
    'OpenAI',
    httpError(400, {
      message:
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens. Please reduce the length of the messages.",
      type: 'invalid_request_error',
      code: 'context_length_exceeded',
    }),
  ],
  [
    'vLLM',
    httpError(400, {
      body: {
        object: 'error',
        message:
          "This model's maximum context length is 8192 tokens. However, you requested 9001 tokens in the messages.",
        type: 'BadRequestError',
        param: null,
        code: 400,
      },
    }),
  ],
  [
    'llama.cpp',
    httpError(400, {
      body: {
        error: {
          code: 400,
          message: 'the request exceeds the available context size, try increasing it',
          type: 'exceed_context_size_error',
          n_prompt_tokens: 9001,
          n_ctx: 8192,
        },
      },
    }),
  ],
  ['413', raw('<html>Request Entity Too Large</html>', { status: 413, headers: { 'content-type': 'text/html' } })],
  [
    'inside a stream',
    inStreamError(
      text(''),
      { message: 'context_length_exceeded', code: 'context_length_exceeded' },
      { afterChunks: 0 },
    ),
  ],
];

describe('by the provider’s word', () => {
  test.each(OVERFLOWS)('%s: compaction, then the same turn again', async (_, overflow) => {
    let turns = 0;
    rig = await startRig({
      script: (request) => {
        if (wantsSummary(request)) return text('Pages were read.');
        if (request.bodyChars > 28_000) return overflow;
        turns += 1;
        return turns <= 20 ? call('read_page', { page: turns }) : text('All read.');
      },
      agent: { tools: [read], context: { window: 128_000, keepTurns: 2 } },
    });
    const run = await rig.start({ task: TASK });
    expect(await run.result()).toMatchObject({ status: 'completed', output: 'All read.', turns: 21 });
    expect((await run.state()).compactions).toBeGreaterThan(0);
    // From the first overflow on, the window is known to be smaller: no call is made in vain again.
    expect(rig.model.requests.filter((request) => isPlain(request) && request.bodyChars > 28_000)).toHaveLength(1);
  });

  test('still too long after two compactions: context_overflow', async () => {
    const { run, result } = await readPages(3, {
      script: (request, turn) =>
        wantsSummary(request) ? text('Read.') : turn < 3 ? call('read_page', { page: turn }) : httpError(413),
    });
    expect(result).toMatchObject({ status: 'failed', reason: 'context_overflow', turns: 3 });
    expect((await run.state()).compactions).toBe(2);
    expect(rig.model.requests.filter(isPlain)).toHaveLength(3 + 3);
  });

  test('a task that no model takes: context_overflow, not an endless round', async () => {
    rig = await startRig({ script: () => httpError(413), agent: { context: { window: 1000 } } });
    const run = await rig.start({ task: 'word '.repeat(2000) });
    expect(await run.result()).toMatchObject({ status: 'failed', reason: 'context_overflow', turns: 0 });
    expect(rig.model.requests).toHaveLength(3);
  });

  test('words that are over the mark for ever are not compacted before every call', async () => {
    let turns = 0;
    rig = await startRig({
      script: (request) => {
        if (wantsSummary(request)) return text('Pages were read.');
        turns += 1;
        const usage = { prompt_tokens: 50_000, completion_tokens: 1 };
        return turns <= 10 ? call('read_page', { page: turns }, { usage }) : text('All read.', { usage });
      },
      agent: { tools: [{ ...read, execute: () => 'short' }], context: { window: 12_000, keepTurns: 2 } },
    });
    const run = await rig.start({ task: TASK });
    expect(await run.result()).toMatchObject({ status: 'completed', turns: 11 });
    expect((await run.state()).compactions).toBeLessThanOrEqual(2);
  });
});
