/** Tool activities that somebody schedules by hand, and results that cannot be stored. Calls of runs: test/scenarios. */
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { defineTool } from 'everlap';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { tmpdir } from 'node:os';
import { runTool } from '../../src/activities/run-tool.js';

const execute = vi.fn(() => 'done');
const tool = defineTool({ name: 'act', description: 'Acts.', input: z.object({ n: z.number() }), execute });
const call = { runId: 'r', lap: 1, turn: 1, callId: 'c', idempotencyKey: 'k' };
const good = { args: { n: 1 }, call };

async function run(input: unknown, bound = async (text: string) => Promise.resolve(text)): Promise<unknown> {
  const workspaces = `${tmpdir()}/everlap-run-tool-test`;
  return new MockActivityEnvironment({}, { logger: new DefaultLogger('ERROR') }).run(() =>
    runTool(tool, { workspaces, bound }, input),
  );
}

test('good input runs it', async () => {
  expect(await run(good)).toEqual({ text: 'done' });
});

test.each<[string, unknown]>([
  ['nothing', undefined],
  ['a text', 'act'],
  ['a list', [good]],
  ['no call', { args: { n: 1 } }],
  ['no args', { call }],
  ['args that are a list', { args: [1], call }],
  ['a call without a key', { args: { n: 1 }, call: { ...call, idempotencyKey: undefined } }],
  ['a call with a number for an id', { args: { n: 1 }, call: { ...call, callId: 7 } }],
  ['an unknown request', { ...good, reconcile: 'yes' }],
])('%s is refused for good, with what is needed', async (_, input) => {
  execute.mockClear();
  const error: unknown = await run(input).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({
    type: 'ToolError',
    nonRetryable: true,
    message: expect.stringContaining('tool.act needs { args, call: {') as unknown,
  });
  expect(execute).not.toHaveBeenCalled();
});

test('to be asked for an outcome, a tool must know how', async () => {
  await expect(run({ ...good, reconcile: true })).rejects.toMatchObject({
    type: 'ToolError',
    message: expect.stringContaining('act has no reconcile') as unknown,
  });
});

test('a result that cannot be stored is cut, and the tool is not run again', async () => {
  execute.mockClear();
  execute.mockReturnValueOnce('x'.repeat(1_000_000));
  const output = await run(good, () => Promise.reject(new Error('disk full')));
  expect(output).toMatchObject({ text: expect.stringMatching(/^xxx[^]*disk full\)$/) as unknown });
  expect(JSON.stringify(output).length).toBeLessThan(21_000);
  expect(execute).toHaveBeenCalledTimes(1);
});
