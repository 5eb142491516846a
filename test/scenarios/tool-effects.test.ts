/** What a failed tool call means, by the tool's effects: tried again, asked for its outcome, or told as unknown. */
import { CancelledFailure, ApplicationFailure } from '@temporalio/common';
import { defineTool, ToolError, type ToolContext, type ToolDefinition, type ZodToolOptions } from 'everlap';
import { call, calls, text } from 'everlap/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { startRig, type Rig } from '../support/rig.js';

/** Every execution and every reconcile, by the tool's name. */
const tries = new Map<string, ToolContext[]>();
const reconciled = new Map<string, string[]>();
type Behaviour = Partial<Omit<ZodToolOptions<z.ZodObject>, 'execute'>> & {
  readonly execute: (context: ToolContext, count: number) => unknown;
};

const forever = () => new Promise(() => undefined);
const thrown = (error: unknown) => () => {
  throw error;
};
const failsTwice = (_: ToolContext, count: number) => {
  if (count < 3) throw new Error(`not yet (${count})`);
  return `done on try ${count}`;
};
const asked = (name: string, answer: () => unknown) => ({
  reconcile: ((key: string) => {
    reconciled.set(name, [...(reconciled.get(name) ?? []), key]);
    return answer();
  }) as NonNullable<ZodToolOptions<z.ZodObject>['reconcile']>,
});

const UNKNOWN =
  /^Outcome unknown: \S+ was started, and it took longer than 0.3 seconds and was stopped\. It may or may not/;
const LATE = { timeout: 300 };

/** Behaviour; executions; what the result says. */
const behaviours: Record<string, [Behaviour, number, RegExp]> = {
  once_throws: [{ execute: thrown(new Error('card declined')) }, 1, /^Error: card declined$/],
  once_tool_error: [{ execute: thrown(new ToolError('no such card')) }, 1, /^Error: no such card$/],
  once_hangs: [{ ...LATE, execute: forever }, 1, UNKNOWN],
  once_throws_over_abort: [
    {
      ...LATE,
      execute: ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
    },
    1,
    UNKNOWN,
  ],
  once_ends_over_abort: [
    {
      ...LATE,
      execute: ({ signal }) =>
        new Promise((resolve) => signal.addEventListener('abort', () => resolve('ended in order'))),
    },
    1,
    /^ended in order$/,
  ],
  once_was_done: [
    { ...LATE, execute: forever, ...asked('once_was_done', () => ({ done: true, result: { receipt: 7 } })) },
    1,
    /receipt.*7/s,
  ],
  once_was_not_done: [
    {
      ...LATE,
      execute: (_, count) => (count === 1 ? forever() : 'done at last'),
      ...asked('once_was_not_done', () => ({ done: false })),
    },
    2,
    /^done at last$/,
  ],
  once_is_never_done: [
    { ...LATE, attempts: 2, execute: forever, ...asked('once_is_never_done', () => ({ done: false })) },
    2,
    /^Error: once_is_never_done was started 2 times without effect; the last time it took longer/,
  ],
  once_reconcile_throws: [
    { ...LATE, attempts: 2, execute: forever, ...asked('once_reconcile_throws', thrown(new Error('bank closed'))) },
    1,
    /^Outcome unknown: .*asked for its outcome, it failed: bank closed\. It may/,
  ],
  once_reconcile_says_nothing: [
    { ...LATE, attempts: 1, execute: forever, ...asked('once_reconcile_says_nothing', () => undefined) },
    1,
    /^Outcome unknown: /,
  ],
  once_reconcile_hangs: [
    { ...LATE, attempts: 1, execute: forever, ...asked('once_reconcile_hangs', forever) },
    1,
    /^Outcome unknown: .*asked for its outcome, it failed: it took longer/,
  ],
  once_known_error_is_not_asked: [
    { execute: thrown(new Error('refused')), ...asked('once_known_error_is_not_asked', () => ({ done: false })) },
    1,
    /^Error: refused$/,
  ],
  none_fails_twice: [{ effects: 'none', execute: failsTwice }, 3, /^done on try 3$/],
  idempotent_fails_twice: [{ effects: 'idempotent', execute: failsTwice }, 3, /^done on try 3$/],
  idempotent_fails_always: [{ effects: 'idempotent', attempts: 2, execute: failsTwice }, 2, /^Error: not yet \(2\)$/],
  none_tool_error: [{ effects: 'none', execute: thrown(new ToolError('no such file')) }, 1, /^Error: no such file$/],
  none_second_copy: [
    { effects: 'none', execute: thrown(Object.assign(new Error('of a second copy'), { name: 'ToolError' })) },
    1,
    /of a second copy$/,
  ],
  none_hangs: [
    { effects: 'none', ...LATE, attempts: 2, execute: forever },
    2,
    /^Error: it took longer than 0.3 seconds/,
  ],
  none_final_failure: [
    { effects: 'none', execute: thrown(ApplicationFailure.nonRetryable('for good', 'Own', 'x'.repeat(3_000_000))) },
    1,
    /for good$/,
  ],
  none_cancelled_by_itself: [
    { effects: 'none', attempts: 1, execute: thrown(new CancelledFailure('not the run')) },
    1,
    /^Error: CancelledFailure: not the run$/,
  ],
  none_aborted_by_itself: [
    { effects: 'none', attempts: 1, execute: () => AbortSignal.abort().throwIfAborted() },
    1,
    /^Error: AbortError: /,
  ],
  none_giant_error: [
    {
      effects: 'none',
      attempts: 1,
      execute: thrown(new Error('x'.repeat(5_000_000), { cause: new Error('y'.repeat(5e6)) })),
    },
    1,
    /characters left out/,
  ],
  none_giant_failure: [
    { effects: 'none', attempts: 1, execute: thrown(ApplicationFailure.retryable('x'.repeat(5_000_000))) },
    1,
    /characters left out/,
  ],
  none_throws_nothing: [
    { effects: 'none', attempts: 1, execute: thrown(undefined) },
    1,
    /^Error: undefined was thrown/,
  ],
  none_blocks: [
    {
      effects: 'none',
      timeout: 100,
      execute: () => {
        const until = Date.now() + 3000;
        while (Date.now() < until);
        return 'done, rudely';
      },
    },
    1,
    /^done, rudely$/,
  ],
  none_for_months: [{ effects: 'none', timeout: '60 days', execute: () => 'at once' }, 1, /^at once$/],
};

/** Values that are awkward to send: each becomes text, and the tool is not run again. */
const awkward: Record<string, [() => unknown, RegExp]> = {
  gives_undefined: [() => undefined, /./],
  gives_null: [() => null, /null/],
  gives_bigint: [() => 12345678901234567890n, /12345678901234567890/],
  gives_circle: [
    () => {
      const circle: { me?: unknown } = {};
      circle.me = circle;
      return circle;
    },
    /./,
  ],
  gives_function: [() => () => 1, /./],
  gives_buffer: [() => Buffer.from('hello'), /./],
  gives_error: [() => new Error('as a value'), /as a value/],
  gives_date: [() => new Date(0), /1970-01-01/],
  gives_map: [() => new Map([['a', 1]]), /a.*1/s],
  gives_surrogate: [() => 'a\ud83d', /^a\ufffd$/],
  gives_nan: [() => Number.NaN, /NaN/],
  gives_symbol: [() => Symbol('s'), /Symbol\(s\)/],
  gives_thief: [
    () => ({
      get loot() {
        throw new Error('caught');
      },
    }),
    /caught/,
  ],
  gives_control_characters: [() => '\u0000'.repeat(1_000_000), /1000000 bytes in all\. Read on with read_result/],
};

function build(name: string, { execute, ...options }: Behaviour): ToolDefinition {
  return defineTool({
    name,
    description: `Tests ${name}.`,
    input: z.object({}),
    ...options,
    execute: (_, context) => {
      const all = [...(tries.get(name) ?? []), context];
      tries.set(name, all);
      return execute(context, all.length);
    },
  });
}

const tools = [
  ...Object.entries(behaviours).map(([name, [behaviour]]) => build(name, behaviour)),
  ...Object.entries(awkward).map(([name, [execute]]) => build(name, { execute })),
];

let rig: Rig;
beforeAll(async () => {
  const names = tools.map(({ name }) => name);
  rig = await startRig({
    byTask: {
      ...Object.fromEntries(names.map((name) => [`call ${name}!`, [call(name), text('Done.')]])),
      'call all!': [calls(Object.keys(awkward).map((name) => ({ name, arguments: {} }))), text('Done.')],
    },
    agent: { tools },
  });
});
afterAll(() => rig.stop());

async function callOf(name: string) {
  const run = await rig.start({ task: `call ${name}!` });
  const result = await run.result();
  expect(result).toMatchObject({ status: 'completed', output: 'Done.', turns: 2, toolCalls: 1 });
  const outcome = (await run.messages()).find((message) => message.role === 'tool');
  return { run, outcome, state: await run.state() };
}

describe.concurrent('effects', () => {
  test.each(Object.keys(behaviours))('%s', async (name) => {
    const [behaviour, count, said] = behaviours[name] ?? [];
    const { run, outcome, state } = await callOf(name);
    const own = (tries.get(name) ?? []).filter(({ call: { runId } }) => runId === run.id);
    expect(outcome?.text).toMatch(said ?? /never/);
    expect(outcome?.text.length).toBeLessThan(3000);
    expect(outcome?.isError === true).toBe(/^(Error|Outcome unknown|x)/.test(outcome?.text ?? ''));
    expect(own).toHaveLength(count ?? -1);
    // The same key on every attempt; and attempts are counted, where they are Temporal's.
    expect(new Set(own.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    if (behaviour?.effects !== undefined)
      expect(own.map(({ attempt }) => attempt)).toEqual(own.map((_, index) => index + 1));
    // Only an unknown outcome is asked for.
    const isAsked = behaviour?.reconcile !== undefined && !/^Error: refused/.test(outcome?.text ?? '');
    expect(new Set(reconciled.get(name))).toEqual(
      new Set(isAsked ? own.map(({ idempotencyKey }) => idempotencyKey) : []),
    );
    if (outcome?.text.startsWith('Outcome unknown')) expect(state.lastError).toBe(outcome.text);
  });

  test.each(Object.keys(awkward))('%s: readable text, run once', async (name) => {
    const { run, outcome } = await callOf(name);
    expect(outcome?.text).toMatch(awkward[name]?.[1] ?? /never/);
    expect(outcome?.isError).toBeUndefined();
    expect((tries.get(name) ?? []).filter(({ call: { runId } }) => runId === run.id)).toHaveLength(1);
  });
});

test('all awkward values at once', async () => {
  const run = await rig.start({ task: 'call all!' });
  expect(await run.result()).toMatchObject({ status: 'completed', toolCalls: Object.keys(awkward).length });
});
