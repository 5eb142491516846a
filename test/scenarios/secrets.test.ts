/** API keys live in the worker's environment, and nowhere else: not in history, state, messages, memo, describe or logs. */
import { defineTool } from 'everlap';
import { call, httpError, inStreamError, raw, text, type Step } from 'everlap/testing';
import { openaiChat } from 'everlap/worker';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { readableHistory } from '../support/readable-history.js';
import { logged, startRig, type Rig } from '../support/rig.js';

const KEY = 'everlap-test-key-0123456789';
/** As servers hide a part of it, and keys that are not ours. */
const OTHERS = ['sk-proj-abcdefghijklmnop', 'sk-ab**********wxyz'];
const words = `Incorrect API key provided: ${KEY}, or Bearer ${KEY}, or ${OTHERS.join(', ')}. See https://x.example/?key=${KEY}`;

const noop = defineTool({
  name: 'noop',
  description: 'Does nothing.',
  input: z.object({}),
  effects: 'none',
  execute: () => 'done',
});

const failures: Record<string, readonly Step[]> = {
  'the key in a 401': [httpError(401, { message: words })],
  'the key in a 400': [httpError(400, { message: words })],
  'the key in a 500, then an answer': [httpError(500, { message: words }), text('Done.')],
  'the key in a page': [httpError(403, { body: `<html><title>${words}</title>${words}</html>` })],
  'the key in a long body': [httpError(422, { message: `${words} `.repeat(5000) })],
  'the key at the cut': [httpError(422, { message: 'x'.repeat(1880) + KEY + 'x'.repeat(500) })],
  'the key in the stream': [inStreamError(text('Hi'), { type: 'invalid_request_error', message: words })],
  'the key in an unknown body': [raw(words, { headers: { 'content-type': 'text/plain' } }), text('Done.')],
  'no key at all': [call('noop'), text('Done.')],
};

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ byTask: failures, agent: { tools: [noop] }, startWorker: false });
  await rig.startWorker({
    provider: openaiChat({ baseUrl: rig.model.baseUrl, apiKey: KEY, headers: { 'x-gateway-key': `${KEY}-gateway` } }),
  });
});
afterAll(() => rig.stop());

test.each(Object.keys(failures))('%s', async (task) => {
  const run = await rig.start({ task });
  const result = await run.result();
  const { memo, raw: described } = await run.temporal.describe();
  const shown = {
    history: await readableHistory(run),
    result,
    state: await run.state(),
    messages: await run.messages(),
    memo,
    described,
    logged: logged.map(({ message, meta }) => [message, meta, meta?.['error'] instanceof Error && meta['error'].stack]),
  };
  expect(rig.model.requests.at(-1)?.headers.authorization).toBe(`Bearer ${KEY}`);
  expect(shown.history.includes(task)).toBe(true);
  const leaks = Object.entries(shown).filter(([, value]) => {
    const text = JSON.stringify(value);
    // Half a key is half a secret.
    return [KEY.slice(0, 20), ...OTHERS].some((secret) => text.includes(secret));
  });
  expect(leaks.map(([where]) => where)).toEqual([]);
});
