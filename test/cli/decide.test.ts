/** The commands by which people decide, as processes on a real server. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { calls, call, text } from 'everlap/testing';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { eventually } from '../support/rig.js';
import { AGENT, jsonLines, looksLikeOneSentence, startCliRig, type CliRig } from './support.js';

vi.setConfig({ testTimeout: 180_000 });
let rig: CliRig;
const RUN = 'cli-decided';

beforeAll(async () => {
  rig = await startCliRig({
    'decide with me': [
      calls([
        { name: 'pay', arguments: { usd: 5 }, id: 'first' },
        { name: 'pay', arguments: { usd: 7 }, id: 'second' },
        { name: 'ask_human', arguments: { question: 'Which?' }, id: 'question' },
      ]),
      call('pay', { usd: 9 }),
      text('Decided.'),
    ],
  });
  await writeFile(
    join(rig.folder, 'everlap.config.ts'),
    `import { askHuman, defineAgent, defineConfig, defineTool } from 'everlap';
const pay = defineTool({ name: 'pay', description: 'Pays.', parameters: { type: 'object', properties: { usd: { type: 'number' } }, required: ['usd'] }, approval: 'always', execute: ({ usd }) => 'paid ' + usd });
const agent = defineAgent({ name: '${AGENT}', instructions: 'Pay.', model: 'scripted', tools: [pay, askHuman()] });
export default defineConfig({ agents: [agent], taskQueue: '${rig.taskQueue}' });
`,
  );
  await rig.startWorker();
});
afterAll(() => rig.stop());

it('lists what waits, and takes approvals with changed arguments, denials, answers and modes', async () => {
  await rig.run('run', AGENT, 'decide with me', '--id', RUN, '--detach');
  const waiting = await eventually(async () => {
    const lines = (await rig.run('pending', '--json')).stdout;
    const mine = lines === '' ? [] : jsonLines(lines).filter((line) => line['id'] === RUN);
    return mine.length === 3 && mine;
  }, 'three pending calls');
  const byId = waiting.sort((a, b) => String(a['callId']).localeCompare(String(b['callId'])));
  expect(byId).toMatchObject([
    { agent: AGENT, kind: 'approval', callId: 'first', tool: 'pay' },
    { kind: 'question', callId: 'question' },
    { kind: 'approval', callId: 'second' },
  ]);
  expect((await rig.run('pending')).stdout).toMatch(/cli-decided {2}question {2}question: ask_human .*Which/);

  const badArgs = await rig.run('approve', RUN, 'first', '--args', '{"usd": "much"}');
  expect(badArgs.code).toBe(1);
  expect(badArgs.stderr).toMatch(/do not fit the tool pay/);
  const noJson = await rig.run('approve', RUN, 'first', '--args', 'much');
  expect(looksLikeOneSentence(noJson.stderr)).toBe(true);
  const unknown = await rig.run('approve', RUN, 'nobody');
  expect(unknown.stderr).toMatch(/No call nobody waits/);
  expect((await rig.run('mode', RUN, 'fast')).stderr).toMatch(/must be one of ask, auto, plan/);

  expect((await rig.run('approve', RUN, 'first', '--args', '{"usd": 4}', '--remember')).stdout).toBe(
    'The call first is approved.\n',
  );
  expect((await rig.run('deny', RUN, 'second', '--reason', 'Too dear.', '--json')).stdout).toBe(
    '{"callId":"second","state":"denied"}\n',
  );
  expect((await rig.run('answer', RUN, 'question', 'The red one.')).code).toBe(0);
  // The third payment is approved by the rule of the first.
  const watched = await rig.run('watch', RUN, '--json');
  expect(jsonLines(watched.stdout).at(-1)).toMatchObject({ result: { status: 'completed', output: 'Decided.' } });
  const results = rig.model.requests[1]?.messages.flatMap((m) => (m.role === 'tool' ? [m.content] : []));
  expect(results).toEqual(['paid 4', expect.stringContaining('Too dear.'), 'The red one.']);
  expect((await rig.run('approve', RUN, 'second')).code).toBe(1);
});
