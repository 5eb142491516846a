/** Answers in a form: asked for, checked, sent back where they are wrong, typed in the result. */
import { defineAgent, defineTool } from 'everlap';
import { call, httpError, startScriptedModel, text, type ChatRequest, type Script } from 'everlap/testing';
import { openaiChat } from 'everlap/worker';
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { startRig, type Rig } from '../support/rig.js';

const verdict = defineAgent({
  name: 'judge',
  instructions: 'You judge invoices.',
  model: 'gpt-5-mini',
  tools: [
    defineTool({
      name: 'read_invoice',
      description: 'Reads one invoice.',
      input: z.object({ number: z.string() }),
      effects: 'none',
      execute: ({ number }) => `Invoice ${number}: 12.50`,
    }),
  ],
  output: z.object({
    ok: z.boolean(),
    cents: z.string().regex(/^\d+$/).transform(Number),
    note: z.string().optional(),
  }),
});

const GOOD = '{"ok":true,"cents":"1250","note":null}';
const scripts: Record<string, Script> = {
  'right at once': [text(GOOD)],
  'right after a tool': [call('read_invoice', { number: '17' }), text(`Here it is:\n\`\`\`json\n${GOOD}\n\`\`\``)],
  'wrong, then right': [text('It is fine.'), text('{"ok":"yes","cents":"x"}'), text(GOOD)],
  'never right': Array.from({ length: 4 }, (_, n) => text(`No JSON, for the ${n + 1}. time.`)),
  'cut off': [text(GOOD.slice(0, 12), { finish: 'length' }), text(GOOD.slice(12))],
  'wrong on the last turn': [text('It is fine.')],
  'at its end, summed up': [text('It is fine.'), text('Nothing was done.')],
};

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ byTask: scripts, agents: [verdict] });
});
afterAll(() => rig.stop());

const start = (task: string, settings = {}) => rig.client.start({ agent: verdict, task, settings });
const toolNames = (body: ChatRequest) =>
  z
    .array(z.object({ function: z.object({ name: z.string() }) }))
    .parse(body['tools'])
    .map((tool) => tool.function.name);
const requestsOf = (task: string) => rig.model.requests.filter((request) => request.task === task);

describe.concurrent('an agent with a form for its answer', () => {
  test('gets it, and the result is typed', async () => {
    const run = await start('right at once');
    const result = await run.result();
    expect(result).toMatchObject({ status: 'completed', reason: 'answered', turns: 1 });
    if (result.status !== 'completed') throw new Error('It was not.');
    expectTypeOf(result.output).toEqualTypeOf<{ ok: boolean; cents: number; note?: string | undefined }>();
    expect(result.output).toEqual({ ok: true, cents: 1250 });
    // Whoever knows the run by its id alone reads JSON.
    expect((await rig.client.handle(run.id).result()).output).toBe(GOOD);
    expect((await rig.client.handle(run.id, verdict).result()).output).toEqual({ ok: true, cents: 1250 });
  });

  test('may call tools first, and put words around it', async () => {
    const result = await (await start('right after a tool')).result();
    expect(result).toMatchObject({ status: 'completed', output: { ok: true, cents: 1250 }, turns: 2 });
  });

  test('is told what is wrong, and asked again', async () => {
    const result = await (await start('wrong, then right')).result();
    expect(result).toMatchObject({ status: 'completed', output: { ok: true, cents: 1250 }, turns: 3 });
    const [, second, third] = requestsOf('wrong, then right');
    expect(second?.messages.at(-1)?.content).toMatch(/does not have the form.*\n.*no JSON object/);
    expect(second?.messages.at(-1)?.content).toContain('JSON Schema:\n{"type":"object","properties":{"ok":');
    expect(third?.messages.at(-1)?.content).not.toContain('JSON Schema');
    expect(third?.messages.at(-1)?.content).toMatch(/expected boolean, received string[\s\S]*ok[\s\S]*cents/);
  });

  test('is asked three times more, and fails then', async () => {
    const run = await start('never right');
    const result = await run.result();
    expect(result).toMatchObject({ status: 'failed', reason: 'invalid_output', output: null, turns: 4 });
    expect(result.error).toMatch(/does not have the form.*no JSON object/s);
  });

  test('is checked when it is whole: parts of a cut answer are joined first', async () => {
    expect(await (await start('cut off')).result()).toMatchObject({ output: { ok: true, cents: 1250 }, turns: 1 });
  });

  test('ends at its limit all the same, and sums up without a form', async () => {
    const settings = { limits: { turns: 1 } };
    expect(await (await start('wrong on the last turn', settings)).result()).toMatchObject({
      status: 'exhausted',
      reason: 'max_turns',
      output: null,
    });
    const summed = await start('at its end, summed up', { ...settings, onLimit: 'summarize' });
    expect(await summed.result()).toMatchObject({ status: 'exhausted', output: 'Nothing was done.' });
    const [first, last] = requestsOf('at its end, summed up');
    expect(JSON.stringify(first?.body)).toContain('final_answer');
    expect(JSON.stringify(last?.body)).not.toContain('final_answer');
  });
});

test('the form is a field of the request where no tools are in it, and a tool once the server has refused that', async () => {
  const agent = defineAgent({
    name: 'plain',
    instructions: 'Judge.',
    model: 'some-model',
    output: z.object({ ok: z.boolean() }),
  });
  const model = await startScriptedModel({
    script: [
      httpError(400, { message: 'This response_format type is unavailable now.' }),
      text('{"ok":true}'),
      text('{"ok":false}'),
    ],
  });
  await rig.startWorker({
    agents: [agent],
    taskQueue: `${rig.taskQueue}-plain`,
    provider: openaiChat({ baseUrl: model.baseUrl, apiKey: 'scripted' }),
  });
  for (const ok of [true, false]) {
    const run = await rig.client.start({ agent, task: 'Go.', taskQueue: `${rig.taskQueue}-plain` });
    expect(await run.result()).toMatchObject({ status: 'completed', output: { ok } });
  }
  expect(model.requests.map(({ body }) => body['response_format'])).toEqual([
    {
      type: 'json_schema',
      json_schema: {
        name: 'plain_output',
        strict: true,
        schema: {
          type: 'object',
          properties: { ok: { type: 'boolean' } },
          required: ['ok'],
          additionalProperties: false,
        },
      },
    },
    undefined,
    undefined,
  ]);
  for (const { body } of model.requests.slice(1)) expect(toolNames(body)).toEqual(['final_answer']);
  await model.close();
});
