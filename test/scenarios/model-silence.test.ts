/** SCENARIO 33 and its neighbours: streams that fall silent, never begin, or never end. */
import type { ModelOptions, RunSettings } from 'everlap';
import { fallSilent, raw, silence, text, type Step } from 'everlap/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { play, scriptsOf, type Case } from '../support/cases.js';
import { startRig, type Rig } from '../support/rig.js';

const short = (limits: Partial<ModelOptions>) => ({ model: { name: 'gpt-5-mini', attempts: 2, ...limits } });
const IDLE = short({ idleTimeout: 400 });
const FIRST = short({ firstEventTimeout: 400 });
const keepalive = 'event: ping\ndata: {"type": "ping"}\n\n';

const silent: Record<string, [Step, RunSettings]> = {
  'silence in mid-answer': [fallSilent(text('Half an ans')), IDLE],
  'silence in mid-answer, with comments': [fallSilent(text('Half an ans'), { commentsEveryMs: 50 }), IDLE],
  'silence after the headers': [silence(), FIRST],
  'no headers ever': [silence({ headers: false }), FIRST],
  'comments from the beginning': [silence({ commentsEveryMs: 50 }), FIRST],
  'pings that look like events': [raw(keepalive.repeat(3), { then: 'silence' }), FIRST],
  'an answer without end': [text('x'.repeat(100_000), { chunkDelayMs: 20 }), short({ timeout: 1000 })],
};

const cases: Record<string, Case> = {
  ...Object.fromEntries(
    Object.entries(silent).flatMap(([name, [step, settings]]): [string, Case][] => [
      [`${name}: for ever`, { script: () => step, settings }],
      [`${name}: once`, { script: [step, text('Done.')], settings }],
    ]),
  ),
  'slow, but alive': {
    script: [text('One word after the other.', { pieceChars: 2, chunkDelayMs: 100 })],
    settings: short({ idleTimeout: 5000, firstEventTimeout: 5000 }),
  },
  'limits longer than a timer can hold': {
    script: [text('Done.')],
    settings: short({ idleTimeout: '60 days', firstEventTimeout: '60 days', timeout: '60 days' }),
  },
  'silent for ever, with a fallback': {
    script: ({ body }) => (body.model === 'gpt-5-mini' ? silence() : text('I am here.')),
    settings: { ...FIRST, fallbackModels: ['gpt-4.1-mini'] },
  },
};

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ byTask: scriptsOf(cases) });
});
afterAll(() => rig.stop());
const playCase = (name: string) => play(rig, name, cases[name]);

describe.concurrent('silence', () => {
  test.each(Object.keys(silent))('%s: for ever: stalled, after as many requests as attempts', async (name) => {
    const { result, requests, messages } = await playCase(`${name}: for ever`);
    expect(result).toMatchObject({ status: 'failed', reason: 'stalled', output: null, turns: 0 });
    expect(result.error).toMatch(/gpt-5-mini (sent nothing|fell silent|did not end its answer)/);
    expect(requests.map(({ closed }) => closed)).toEqual(['by client', 'by client']);
    expect(messages).toHaveLength(1);
  });

  test.each(Object.keys(silent))('%s: once: asked again', async (name) => {
    const { result, messages } = await playCase(`${name}: once`);
    expect(result).toMatchObject({ status: 'completed', output: 'Done.', turns: 1 });
    expect(messages.map(({ text }) => text)).toEqual([`${name}: once`, 'Done.']);
  });

  test('slow, but alive: no limit is passed', async () => {
    const { result, requests } = await playCase('slow, but alive');
    expect(result.output).toBe('One word after the other.');
    expect(requests).toHaveLength(1);
  });

  test('limits longer than a timer can hold are none', async () => {
    const { result } = await playCase('limits longer than a timer can hold');
    expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
  });

  test('a model that stays silent gives way to the fallback', async () => {
    const { result, requests } = await playCase('silent for ever, with a fallback');
    expect(result).toMatchObject({ status: 'completed', output: 'I am here.', turns: 1 });
    expect(requests).toHaveLength(3);
  });
});
