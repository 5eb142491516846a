/** SCENARIOS 29 to 32, 36 and their neighbours: what a failed model call means for the run. */
import { defineTool, type AgentResult } from 'everlap';
import {
  call,
  cleanEnd,
  cut,
  emptyBody,
  hangUp,
  html,
  httpError,
  inStreamError,
  raw,
  text,
  type Script,
  type Step,
} from 'everlap/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { containing, play, scriptsOf, type Case } from '../support/cases.js';
import { startRig, type Rig } from '../support/rig.js';

const noop = defineTool({
  name: 'noop',
  description: 'Does nothing.',
  input: z.object({}),
  effects: 'none',
  execute: () => 'done',
});

const TWO = { model: { name: 'gpt-5-mini', attempts: 2 } };
const FALLBACKS = { ...TWO, fallbackModels: ['gpt-4.1-mini', 'gpt-4.1-nano'] };

/** Failures that pass: the same turn, asked again. */
const passing: Record<string, Step | ((now: number) => Step)> = {
  'wait of a number of seconds': httpError(429, { headers: { 'retry-after': '1' } }),
  'wait until a date': (now) => httpError(503, { headers: { 'retry-after': new Date(now + 1500).toUTCString() } }),
  'wait until a date that has passed': httpError(503, { headers: { 'retry-after': new Date(0).toUTCString() } }),
  'wait of milliseconds': httpError(429, { headers: { 'retry-after-ms': '700' } }),
  'negative wait': httpError(429, { headers: { 'retry-after': '-5' } }),
  'unreadable wait': httpError(429, { headers: { 'retry-after': 'soon' } }),
  'no wait said': httpError(500),
  'request timeout 408': httpError(408),
  'conflict 409': httpError(409),
  'proxy page 502': httpError(502, { body: '<html><body>Bad gateway</body></html>' }),
  'malformed call 400': httpError(400, { code: 'tool_use_failed', message: 'Failed to call a function.' }),
  'tokens per minute 429': httpError(429, { message: 'Limit reached on tokens per minute (TPM): try again in 600ms.' }),
  'socket cut in mid-stream': cut(text('Half an ans')),
  'socket cut in mid-line': cut(text('Half an ans'), { midLine: true }),
  'clean end without an end': cleanEnd(text('Half an ans')),
  'clean end inside a call': cleanEnd(call('noop', '{"a": [1, 2')),
  'clean end of a call without arguments': cleanEnd(call('noop', '')),
  'page of HTML with 200': html(),
  'empty body': emptyBody(),
  'connection hung up': hangUp(),
  'error inside the stream': inStreamError(text('Half an ans'), { type: 'server_error', message: 'Overloaded.' }),
  'named error event': inStreamError(text(''), { message: 'Service unavailable', code: 503 }, { named: true }),
};

/** Failures that end the run: one request, and no fallback is asked. */
const final: Record<string, [Step, AgentResult['reason']]> = {
  'key refused 401': [httpError(401, { code: 'invalid_api_key' }), 'auth'],
  'access denied 403': [httpError(403), 'auth'],
  'payment wanted 402': [httpError(402), 'quota'],
  'quota used up 429': [httpError(429, { code: 'insufficient_quota', headers: { 'retry-after': '1' } }), 'quota'],
  'prompt filtered 400': [httpError(400, { code: 'content_filter' }), 'content_filter'],
  'answer filtered': [text('I would', { finish: 'content_filter' }), 'content_filter'],
  'request refused 400': [httpError(400, { message: 'messages: something is wrong' }), 'bad_request'],
  'no such model 404': [httpError(404, { code: 'model_not_found' }), 'bad_request'],
  'unprocessable 422': [httpError(422), 'bad_request'],
  'refused inside the stream': [inStreamError(text(''), { type: 'invalid_request_error' }), 'bad_request'],
};

/** Overloaded models never answer; the others say who they are. */
function overloaded(...models: string[]): Script {
  return ({ body }) => (models.includes(body.model) ? httpError(503) : text(`I am ${body.model}.`));
}

const cases: Record<string, Case> = {
  ...Object.fromEntries(
    Object.entries(passing).map(([name, step]) => [
      name,
      { script: [typeof step === 'function' ? () => step(Date.now()) : step, text('Done.')], settings: FALLBACKS },
    ]),
  ),
  ...Object.fromEntries(Object.entries(final).map(([name, [step]]) => [name, { script: [step], settings: FALLBACKS }])),
  'two seconds at least': { script: [httpError(429, { headers: { 'retry-after': '2' } }), text('Done.')] },
  'a wait past the deadline': {
    script: [httpError(429, { headers: { 'retry-after': '86400' } })],
    settings: { limits: { duration: '3 seconds' } },
  },
  'a wait of three hundred millennia, to the deadline': {
    script: [httpError(429, { headers: { 'retry-after-ms': '9000000000000000' } })],
    settings: { limits: { duration: '3 seconds' } },
  },
  'the first fallback': { script: overloaded('gpt-5-mini'), settings: FALLBACKS },
  'the second fallback, kept for the turns after': {
    script: ({ body, messages }) => {
      if (body.model !== 'gpt-4.1-nano') return httpError(503);
      return messages.at(-1)?.role === 'tool' ? text('Done.') : call('noop');
    },
    settings: FALLBACKS,
  },
  'every model overloaded': { script: overloaded('gpt-5-mini', 'gpt-4.1-mini', 'gpt-4.1-nano'), settings: FALLBACKS },
  'a fallback whose key is refused': {
    script: ({ body }) => (body.model === 'gpt-4.1-mini' ? httpError(401) : httpError(503)),
    settings: FALLBACKS,
  },
  'always 500': { script: () => httpError(500), settings: { model: { name: 'gpt-5-mini', attempts: 3 } } },
  'one attempt only': { script: [httpError(500)], settings: { model: { name: 'gpt-5-mini', attempts: 1 } } },
  'a server that does not stream': {
    script: [
      raw(
        JSON.stringify({
          choices: [{ index: 0, message: { role: 'assistant', content: 'All at once.' }, finish_reason: 'stop' }],
          usage: { prompt_tokens: 10, completion_tokens: 3 },
        }),
        { headers: { 'content-type': 'application/json' } },
      ),
    ],
  },
};

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ byTask: scriptsOf(cases), agent: { tools: [noop] } });
});
afterAll(() => rig.stop());

const models = (requests: readonly { body: { model: string } }[]) => requests.map(({ body }) => body.model);
const playCase = (name: string) => play(rig, name, cases[name]);

describe.concurrent('model trouble', () => {
  test.each(Object.keys(passing))('%s: the same model is asked again, in the same turn', async (name) => {
    const { result, requests, messages } = await playCase(name);
    expect(result).toMatchObject({ status: 'completed', output: 'Done.', turns: 1 });
    expect(models(requests)).toEqual(['gpt-5-mini', 'gpt-5-mini']);
    expect(requests[1]?.messages).toEqual(requests[0]?.messages);
    expect(messages).toEqual([
      { role: 'user', kind: 'task', text: name },
      { role: 'assistant', text: 'Done.' },
    ]);
  });

  test.each(Object.keys(final))('%s: one request, and the run has failed', async (name) => {
    const { run, result, requests, messages } = await playCase(name);
    expect(result).toMatchObject({ status: 'failed', reason: final[name]?.[1], output: null, turns: 0 });
    expect(result.error).toContain('gpt-5-mini');
    expect(requests).toHaveLength(1);
    expect(messages).toHaveLength(1);
    expect((await run.temporal.describe()).status.name).toBe('FAILED');
  });

  test('Retry-After: 2 is waited out', async () => {
    const { result, requests } = await playCase('two seconds at least');
    expect(result).toMatchObject({ status: 'completed', turns: 1 });
    // What the server asked for is a floor, however slow the machine is.
    expect((requests[1]?.arrivedAt ?? 0) - (requests[0]?.arrivedAt ?? 0)).toBeGreaterThanOrEqual(2000);
  });

  test.each(['a wait past the deadline', 'a wait of three hundred millennia, to the deadline'])(
    '%s: a clean end',
    async (name) => {
      const { run, result, requests } = await playCase(name);
      expect(result).toMatchObject({ status: 'exhausted', reason: 'deadline', output: null, turns: 0 });
      expect(requests).toHaveLength(1);
      expect((await run.temporal.describe()).status.name).toBe('COMPLETED');
    },
  );

  test('the first fallback answers, and the message names it', async () => {
    const { run, requests, messages } = await playCase('the first fallback');
    expect(models(requests)).toEqual(['gpt-5-mini', 'gpt-5-mini', 'gpt-4.1-mini']);
    expect(messages.at(-1)).toEqual({ role: 'assistant', text: 'I am gpt-4.1-mini.', model: 'gpt-4.1-mini' });
    expect(await run.state()).toMatchObject({ model: 'gpt-4.1-mini', lastError: containing('503') });
  });

  test('the second fallback stays for the turns after', async () => {
    const { run, result, requests, messages } = await playCase('the second fallback, kept for the turns after');
    const [a, b, c] = ['gpt-5-mini', 'gpt-4.1-mini', 'gpt-4.1-nano'];
    expect(models(requests)).toEqual([a, a, b, b, c, c]);
    expect(result).toMatchObject({ status: 'completed', turns: 2 });
    expect(messages.filter(({ role }) => role === 'assistant')).toMatchObject([{ model: c }, { model: c }]);
    expect((await run.state()).model).toBe(c);
  });

  test('every model overloaded: as many requests as attempts, then model_unavailable', async () => {
    const { result, requests } = await playCase('every model overloaded');
    const [a, b, c] = ['gpt-5-mini', 'gpt-4.1-mini', 'gpt-4.1-nano'];
    expect(models(requests)).toEqual([a, a, b, b, c, c]);
    expect(result).toMatchObject({ status: 'failed', reason: 'model_unavailable', turns: 0 });
  });

  test('a fallback whose key is refused ends the run: that is for its owner to mend', async () => {
    const { result, requests } = await playCase('a fallback whose key is refused');
    expect(models(requests)).toEqual(['gpt-5-mini', 'gpt-5-mini', 'gpt-4.1-mini']);
    expect(result).toMatchObject({ status: 'failed', reason: 'auth', error: containing('gpt-4.1-mini') });
  });

  test.each([
    ['always 500', 3],
    ['one attempt only', 1],
  ])('%s: %i requests, not multiplied', async (name, count) => {
    const { result, requests } = await playCase(name);
    expect(requests).toHaveLength(count);
    expect(result).toMatchObject({ status: 'failed', reason: 'model_unavailable' });
  });

  test('one JSON completion instead of a stream is an answer', async () => {
    const { result } = await playCase('a server that does not stream');
    expect(result).toMatchObject({ output: 'All at once.', usage: { input: 10, output: 3 } });
  });
});
