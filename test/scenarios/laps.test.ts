/** SCENARIOS 43, 44, 46: fresh laps, promises, verification. */
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defineTool, type AgentOptions } from 'everlap';
import { call, httpError, text, textOf, type Script } from 'everlap/testing';
import type { RunHandle } from 'everlap/client';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { startRig, type Rig } from '../support/rig.js';

let rig: Rig;
afterEach(() => rig.stop());

const write = defineTool({
  name: 'write',
  description: 'Adds a line to a file of the workspace.',
  input: z.object({ line: z.string() }),
  effects: 'idempotent',
  execute: async ({ line }, { workspace }) => {
    await appendFile(join(workspace, 'log.txt'), `${line}\n`);
    return 'written';
  },
});
const PROMISE = 'ALL DONE';

async function startWith(
  script: Script,
  laps: AgentOptions['laps'],
  agent: Partial<AgentOptions> = {},
): Promise<RunHandle> {
  rig = await startRig({ script, agent: { tools: [write], ...agent, ...(laps && { laps }) } });
  return rig.start();
}

function conversationOf(index: number): string[] {
  return (rig.model.requests[index]?.messages ?? []).map((message) => `${message.role}: ${textOf(message)}`);
}

test('a promise kept on lap 3: each lap starts empty with task and handoff; everything adds up', async () => {
  const run = await startWith(
    [
      call('write', { line: 'one' }),
      text('Some done.'),
      call('write', { line: 'two' }),
      text('More done.'),
      text(`Finished.\n\n${PROMISE}\n`),
    ],
    { max: 5, until: { promise: PROMISE } },
  );
  const result = await run.result();
  expect(result).toMatchObject({ status: 'completed', reason: 'promise_kept', laps: 3, turns: 5, toolCalls: 2 });
  const third = conversationOf(4);
  expect(third).toHaveLength(3);
  expect(third[1]).toBe('user: Do it.');
  expect(third[2]).toMatch(/\[LAP 3 of at most 5\]/);
});

test.each([
  ['quoted in a sentence', `I will say "${PROMISE}" when done.`],
  ['in a code block', `\`\`\`\n${PROMISE}\n\`\`\``],
  ['in an open code block', `\`\`\`\n${PROMISE}`],
])('a promise only %s is not kept; no promise by the last lap: max_laps', async (_, words) => {
  const run = await startWith([text(words), text(words)], { max: 2, until: { promise: PROMISE } });
  expect(await run.result()).toMatchObject({
    status: 'exhausted',
    reason: 'max_laps',
    output: null,
    laps: 2,
    turns: 2,
  });
});

test('verify fails, then passes: its output goes into the next lap', async () => {
  const run = await startWith([text('I think it works.'), call('write', { line: 'ready' }), text('Now it does.')], {
    max: 5,
    until: { verify: 'cat log.txt || { echo "log.txt is missing"; exit 3; }' },
  });
  expect(await run.result()).toMatchObject({
    status: 'completed',
    reason: 'verified',
    laps: 2,
    output: 'Now it does.',
  });
  expect(conversationOf(1).join('\n')).toMatch(/failed with exit code 3[^]*log\.txt is missing/);
});

test('the note of hand_off opens the next lap', async () => {
  const run = await startWith([call('hand_off', { note: 'Half is done.' }), text('Pausing here.'), text(PROMISE)], {
    max: 3,
    until: { promise: PROMISE },
    handoff: 'note',
  });
  expect(await run.result()).toMatchObject({ reason: 'promise_kept', laps: 2 });
  expect(conversationOf(2).join('\n')).toMatch(/Note from the last lap:\nHalf is done\./);
});

test('a failed lap counts, and too many in a row end the run with the last failure', async () => {
  const empty = text('');
  const run = await startWith([empty, empty, empty, empty], { max: 9, until: { promise: PROMISE }, maxFailed: 2 });
  expect(await run.result()).toMatchObject({ status: 'failed', reason: 'empty_answer', laps: 2 });
});

test('what another lap would only meet again ends the run at once', async () => {
  const run = await startWith([httpError(401, { message: 'no' })], { max: 9, until: { promise: PROMISE } });
  expect(await run.result()).toMatchObject({ status: 'failed', reason: 'auth', laps: 1 });
});

test('budgets go on over laps', async () => {
  const run = await startWith(
    () => text('Not yet.'),
    { max: 9, until: { promise: PROMISE } },
    { limits: { turns: 3 } },
  );
  expect(await run.result()).toMatchObject({ status: 'exhausted', reason: 'max_turns', turns: 3, laps: 4 });
});

test('steering that waits at the end of a lap, and follow-ups, are taken in the next', async () => {
  rig = await startRig({
    script: [text('Lap one.'), text('After the follow-up.'), text(PROMISE)],
    agent: { laps: { max: 3, until: { promise: PROMISE } } },
    startWorker: false,
  });
  const run = await rig.start();
  await run.temporal.signal('followUp', 'And then?');
  await rig.startWorker();
  expect(await run.result()).toMatchObject({ reason: 'promise_kept', laps: 2, turns: 3 });
  expect(conversationOf(1).at(-1)).toBe('user: And then?');
});
