/** SCENARIOS 24 to 26, and whatever else has no bound by nature: the run goes on, and no task of it is retried for ever. */
import { defineTool, type ToolDefinition } from 'everlap';
import { call, calls, text, textOf, type RecordedRequest, type StepMaker } from 'everlap/testing';
import { temporal } from '@temporalio/proto';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { eventsOf, EventType, type HistoryEvent } from '../support/history.js';
import { startRig, type Rig, type RigOptions } from '../support/rig.js';

let rig: Rig;
afterEach(() => rig.stop());

const { WorkflowTaskFailedCause } = temporal.api.enums.v1;
const MB = 1_000_000;

function give(value: () => unknown, more: object = {}): ToolDefinition {
  return defineTool({
    name: 'give',
    description: 'Gives something.',
    input: z.object({ n: z.number().optional(), text: z.string().optional(), list: z.array(z.number()).optional() }),
    effects: 'none',
    execute: value,
    ...more,
  });
}

const toolTexts = ({ messages }: RecordedRequest): string[] =>
  messages.filter(({ role }) => role === 'tool').map(textOf);

/** The server ends a task early when many results come while it runs, and hands out another: that is no failure. */
function isFailedTask({ eventType, workflowTaskFailedEventAttributes: failed }: HistoryEvent): boolean {
  if (eventType === EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT) return true;
  return (
    (failed ?? null) !== null &&
    failed?.cause !== WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND
  );
}

async function runWith({ task = 'Do it.', ...options }: RigOptions & { task?: string }) {
  rig = await startRig(options);
  const run = await rig.start({ task });
  const result = await run.result();
  const events = await eventsOf(rig.temporal, run.id);
  expect(events.filter(isFailedTask)).toHaveLength(0);
  return { run, result, requests: rig.model.requests, events };
}

describe('a result of 10 MB', () => {
  const secret = `${'x'.repeat(5 * MB)}THE NEEDLE${'y'.repeat(5 * MB)}THE END`;
  const idIn = (request: RecordedRequest): string =>
    /result "(r[0-9a-f]{16})"/.exec(toolTexts(request).join())?.[1] ?? '';

  test('the model sees head, tail, size and how to read on, and can read the rest', async () => {
    const script: StepMaker[] = [
      () => call('give'),
      (request) => call('read_result', { result: idIn(request), search: 'the needle' }),
      (request) =>
        call('read_result', {
          result: idIn(request),
          from: Number(/byte (\d+):/.exec(toolTexts(request)[1] ?? '')?.[1]),
          bytes: 20,
        }),
      () => text('Found.'),
    ];
    const { result, requests, events } = await runWith({ agent: { tools: [give(() => secret)] }, script });
    expect(result).toMatchObject({ status: 'completed', output: 'Found.' });
    const [shown = '', found = '', page = ''] = toolTexts(requests[3]!);
    expect(shown.length).toBeLessThanOrEqual(20_000);
    expect(shown).toMatch(/^x{5000}/);
    expect(shown).toMatch(/THE END\n\[Cut: 10000017 bytes in all\. Read on with read_result/);
    expect(found).toContain('byte 5000000: ');
    expect(page).toBe('THE NEEDLEyyyyyyyyyy\n[Bytes 5000000 to 5000020 of 10000017. Read on from 5000020.]');
    expect(requests[0]!.body.tools?.map((tool) => tool.function?.name)).toEqual(['give', 'read_result']);
    expect(JSON.stringify(events).length).toBeLessThan(600_000);
  });

  test('another run cannot read it', async () => {
    let id = '';
    const { run } = await runWith({
      agent: { tools: [give(() => secret)] },
      script: (request, turn) => {
        if (turn === 1) id = idIn(request);
        return turn === 0 ? call('give') : turn === 2 ? call('read_result', { result: id }) : text('Done.');
      },
    });
    expect(id).not.toBe('');
    const other = await rig.start({ id: `${run.id}-other` });
    expect(await other.result()).toMatchObject({ status: 'completed' });
    expect(toolTexts(rig.model.requests[3]!)[0]).toMatch(/There is no stored result/);
  });

  test('without read_result it is cut, and nothing is stored', async () => {
    const { requests } = await runWith({
      agent: { tools: [give(() => secret)], toolResult: { readResult: false, maxChars: 1000 } },
      script: [call('give'), text('Done.')],
    });
    expect(requests[0]!.body.tools).toHaveLength(1);
    expect(toolTexts(requests[1]!)[0]?.length).toBeLessThanOrEqual(1000);
    expect(toolTexts(requests[1]!)[0]).not.toContain('read_result');
  });
});

describe('many large things at once', () => {
  test('thirty calls with 200 KB of arguments each', async () => {
    const { result, requests } = await runWith({
      agent: { tools: [give(() => 'given')] },
      script: [
        calls(
          Array.from({ length: 30 }, (_, n) => ({ name: 'give', arguments: { n, text: 'x'.repeat(200_000) } })),
          { pieceChars: 50_000 },
        ),
        text('Done.'),
      ],
    });
    expect(result).toMatchObject({ status: 'completed' });
    const results = toolTexts(requests[1]!);
    expect(results.filter((shown) => shown === 'given').length).toBeGreaterThanOrEqual(4);
    expect(results.at(-1)).toContain('cut off by the output length limit');
  });

  test('arguments that grow when they are written anew', async () => {
    const list = `{"list":[${Array.from({ length: 60_000 }, () => '1e20').join(',')}]}`;
    const { result, requests } = await runWith({
      agent: { tools: [give(() => 'given')] },
      script: [
        calls(
          Array.from({ length: 3 }, () => ({ name: 'give', arguments: list })),
          { pieceChars: 50_000 },
        ),
        text('Done.'),
      ],
    });
    expect(result).toMatchObject({ status: 'completed' });
    expect(toolTexts(requests[1]!)).toContain('Error: the arguments are too long. The tool was not run.');
  });

  test.each<[string, number, number, RigOptions['agent']]>([
    ['two results of 3.9 MB', 2, 1.3 * MB, {}],
    ['two results of 3.9 MB, of which much may be seen', 2, 1.3 * MB, { toolResult: { maxChars: 400_000 } }],
    ['two hundred results of 300 KB', 200, 100_000, {}],
  ])('%s', async (_, count, chars, agent) => {
    const { result, requests } = await runWith({
      agent: { tools: [give(() => '漢'.repeat(chars))], context: { window: 1_000_000 }, ...agent },
      script: [calls(Array.from({ length: count }, (_, n) => ({ name: 'give', arguments: { n } }))), text('Done.')],
    });
    expect(result).toMatchObject({ status: 'completed' });
    const results = toolTexts(requests[1]!);
    expect(results).toHaveLength(count);
    expect(results.join('').length).toBeLessThanOrEqual(400_000);
    for (const shown of results) expect(shown).toContain(`[Cut: ${3 * chars} bytes in all. Read on with read_result`);
  });

  test('two hundred local calls with long results', async () => {
    const { result, requests } = await runWith({
      agent: { tools: [give(() => '漢'.repeat(50_000), { execution: 'local' })], context: { window: 1_000_000 } },
      script: [calls(Array.from({ length: 200 }, (_, n) => ({ name: 'give', arguments: { n } }))), text('Done.')],
    });
    expect(result).toMatchObject({ status: 'completed' });
    expect(toolTexts(requests[1]!)).toHaveLength(200);
  });

  test('a result of escapes alone, which are six times as long in a payload', async () => {
    const { requests } = await runWith({
      agent: {
        tools: [give(() => '\u0000'.repeat(MB))],
        toolResult: { maxChars: 400_000 },
        context: { window: 1_000_000 },
      },
      script: [call('give'), text('Done.')],
    });
    expect(toolTexts(requests[1]!)[0]?.length).toBeGreaterThan(130_000);
  });
});

describe('one large thing', () => {
  test('a reply of 3 MB', async () => {
    const { result } = await runWith({
      script: (_, turn) => text(turn === 0 ? 'r'.repeat(3 * MB) : 'The end.', { pieceChars: 100_000 }),
    });
    expect(result.status).toBe('completed');
    expect(result.output?.length).toBeGreaterThan(990_000);
    expect(result.output?.length).toBeLessThanOrEqual(MB);
  });

  test.each<[string, () => never]>([
    [
      'an error',
      () => {
        throw new Error('e'.repeat(5 * MB));
      },
    ],
    [
      'a string',
      () => {
        throw 'e'.repeat(5 * MB);
      },
    ],
  ])('%s of 5 MB that a tool throws', async (_, throws) => {
    const { result, requests } = await runWith({
      agent: { tools: [give(throws, { attempts: 1 })] },
      script: [call('give'), text('Done.')],
    });
    expect(result).toMatchObject({ status: 'completed' });
    expect(toolTexts(requests[1]!)[0]?.length).toBeLessThanOrEqual(2100);
  });

  test('a task of 1 MB that the model takes, over laps', async () => {
    const task = `START ${'word '.repeat(200_000)}END`;
    rig = await startRig({
      agent: { context: { window: 1_000_000 }, laps: { max: 3, until: { promise: 'DONE' } } },
      script: (_, turn) => text(turn < 2 ? 'Not yet.' : 'DONE'),
    });
    const run = await rig.start({ task });
    expect(await run.result()).toMatchObject({ status: 'completed', reason: 'promise_kept', laps: 3 });
    for (const { messages } of rig.model.requests) expect(textOf(messages[1]).length).toBeGreaterThan(MB);
  });

  test('a task of 1 MB that the model does not take is shortened', async () => {
    const { result, requests } = await runWith({
      task: `START ${'word '.repeat(200_000)}END`,
      agent: { context: { window: 20_000 } },
      script: () => text('Done.'),
    });
    expect(result).toMatchObject({ status: 'completed' });
    expect(textOf(requests[0]!.messages[1])).toMatch(/^START [^]*characters left out[^]*END$/);
    expect(requests[0]!.bodyChars).toBeLessThan(60_000);
  });

  test('a task that no payload takes twice ends the run at once, with a sentence', async () => {
    const { result } = await runWith({ task: 'w'.repeat(1_600_000), script: [] });
    expect(result).toMatchObject({ status: 'failed', reason: 'bad_request' });
    expect(result.error).toContain('too long');
  });
});

test('a thousand steerings before the first turn are one message, in order', async () => {
  rig = await startRig({ startWorker: false, script: () => text('Done.') });
  const run = await rig.start();
  for (let from = 0; from < 1000; from += 100) {
    const some = Array.from({ length: 100 }, (_, at) => `Number ${from + at}. ${'s'.repeat(300)}`);
    for (const one of some) await run.temporal.signal('steer', one);
  }
  await rig.startWorker();
  expect(await run.result()).toMatchObject({ status: 'completed' });
  const said = textOf(rig.model.requests[0]!.messages[2]);
  expect([...said.matchAll(/\[STEERING\] Number (\d+)\./g)].map(([, n]) => Number(n))).toEqual(
    Array.from({ length: 1000 }, (_, n) => n),
  );
});
