/** What travels to a model and back: parameters that a server refuses, unknown fields, usage in all shapes. */
import { defineTool } from 'everlap';
import { answer, call, httpError, text, type ScriptedUsage } from 'everlap/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { play, scriptsOf, type Case } from '../support/cases.js';
import { startRig, type Rig } from '../support/rig.js';

const noop = defineTool({
  name: 'noop',
  description: 'Does nothing.',
  input: z.object({}),
  effects: 'none',
  execute: () => 'done',
});

const usage = (prompt_tokens: number, completion_tokens: number, more: Partial<ScriptedUsage> = {}) => ({
  usage: { prompt_tokens, completion_tokens, ...more },
});

const cases: Record<string, Case> = {
  'a parameter that is refused': {
    script: ({ body }, turn) => {
      if ('temperature' in body) return httpError(400, { message: "Unsupported parameter: 'temperature'." });
      return turn < 3 ? call('noop') : text('Done.');
    },
    settings: { model: { name: 'picky', parameters: { temperature: 0.2, top_p: 0.9 } } },
  },
  'a parameter refused without end': {
    script: () => httpError(400, { message: "Unsupported value: 'response_format'." }),
    settings: { model: { name: 'picky-too', parameters: { response_format: { type: 'json_object' } } } },
  },
  'unknown fields': {
    script: [
      answer({
        reasoning: 'Let me see.',
        calls: [{ name: 'noop', arguments: {}, extra: { extra_content: { google: { thought_signature: 'c2ln' } } } }],
        extra: { signature: 'abc', reasoning_details: [{ type: 'reasoning.encrypted', data: 'xyz', index: 0 }] },
      }),
      text('Done.'),
    ],
  },
  'usage told': {
    script: [
      call('noop', {}, usage(100, 10, { prompt_tokens_details: { cached_tokens: 60 } })),
      text('Done.', usage(200, 20, { completion_tokens_details: { reasoning_tokens: 15 } })),
    ],
  },
  'usage never told': { script: [text('Done.', { usage: 'absent' })] },
  'usage null': { script: [text('Done.', { usage: null })] },
  'usage all zero': { script: [text('Done.', usage(0, 0))] },
  'usage without sense': { script: [text('Done.', usage(-5, Number.NaN))] },
  'usage told once, then not': { script: [call('noop', {}, usage(100, 10)), text('Done.', { usage: 'absent' })] },
  'usage of a failed attempt': { script: [httpError(500), text('Done.', usage(100, 10))] },
};

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ byTask: scriptsOf(cases), agent: { tools: [noop] } });
});
afterAll(() => rig.stop());
const playCase = (name: string) => play(rig, name, cases[name]);

describe.concurrent('requests', () => {
  test('a parameter that only tunes is refused once, left out at once, and never sent again', async () => {
    const { result, requests } = await playCase('a parameter that is refused');
    expect(result).toMatchObject({ status: 'completed', turns: 3 });
    expect(requests.map(({ body }) => [body['temperature'], body['top_p']])).toEqual([
      [0.2, 0.9],
      [undefined, 0.9],
      [undefined, 0.9],
      [undefined, 0.9],
    ]);
  });

  test('a parameter with a meaning is not left out', async () => {
    const { result, requests } = await playCase('a parameter refused without end');
    expect(result).toMatchObject({ status: 'failed', reason: 'bad_request' });
    expect(requests).toHaveLength(1);
  });

  test('unknown fields of messages and calls go back as they came', async () => {
    const { requests } = await playCase('unknown fields');
    expect(requests[1]?.messages[2]).toMatchObject({
      role: 'assistant',
      reasoning_content: 'Let me see.',
      signature: 'abc',
      reasoning_details: [{ type: 'reasoning.encrypted', data: 'xyz', index: 0 }],
      tool_calls: [{ extra_content: { google: { thought_signature: 'c2ln' } } }],
    });
  });

  test('usage adds up, parts included', async () => {
    const { result } = await playCase('usage told');
    expect(result.usage).toEqual({ input: 300, output: 30, cachedInput: 60, reasoning: 15 });
    expect(result.costUsd).toBeGreaterThan(0);
  });

  test.each(['usage never told', 'usage null', 'usage all zero', 'usage without sense'])(
    '%s: an estimate, marked as one',
    async (name) => {
      const { result } = await playCase(name);
      expect(result.usage.estimated).toBe(true);
      expect(result.usage.input).toBeGreaterThan(0);
      expect(result.usage.output).toBeGreaterThan(0);
    },
  );

  test('one estimate marks the sum', async () => {
    const { result } = await playCase('usage told once, then not');
    expect(result.usage).toMatchObject({ estimated: true });
    expect(result.usage.input).toBeGreaterThan(100);
  });

  test('a failed attempt counts nothing', async () => {
    const { result } = await playCase('usage of a failed attempt');
    expect(result.usage).toEqual({ input: 100, output: 10 });
  });
});
