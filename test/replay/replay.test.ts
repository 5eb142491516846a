/**
 * Replays histories: those of runs of every kind that are made now, and those that earlier versions left in `histories/`.
 * `EVERLAP_RECORD=1 npx vitest run test/replay` records those of the newest folder anew (README.md says when).
 */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { temporal } from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { everlapBundle } from 'everlap/worker';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startDevServer, type DevServer } from '../../src/dev/dev-server.js';
import { eventsOf, executionsOf } from '../support/history.js';
import { startRig, type Rig } from '../support/rig.js';
import { KINDS, type Kind } from './kinds.js';

const FOLDER = fileURLToPath(new URL('./histories/', import.meta.url));
/** What is recorded now. Runs of the others may be alive somewhere. */
const NEWEST = `${FOLDER}2-ordinary-questions/`;
const RECORDING = process.env.EVERLAP_RECORD === '1';

let server: DevServer;
let rig: Rig | undefined;
beforeAll(async () => {
  server = await startDevServer({ dynamicConfig: ['limit.historyCount.suggestContinueAsNew=60'] });
  if (!RECORDING) return;
  await rm(NEWEST, { recursive: true, force: true });
  await mkdir(NEWEST);
});
afterEach(async () => {
  await rig?.stop();
  rig = undefined;
});
afterAll(() => server.stop());

const replay = (history: unknown, workflowId: string): Promise<void> =>
  Worker.runReplayHistory({ workflowBundle: everlapBundle() }, history, workflowId);

describe('a run that was made now replays', () => {
  test.each(Object.entries(KINDS))('%s', async (name, kind) => {
    const { history, id } = await made(name, kind);
    for (const [index, events] of history.entries()) {
      await replay(temporal.api.history.v1.History.fromObject({ events }), id);
      if (RECORDING) await keep(`${name}${history.length > 1 ? `.${index + 1}` : ''}`, events);
    }
  });
});

describe.skipIf(RECORDING)('a run that an earlier version made replays', async () => {
  const files = (await readdir(FOLDER, { recursive: true })).filter((file) => file.endsWith('.json'));
  test('there is one of every kind', async () => {
    const folders = new Set(files.map((file) => dirname(file)));
    expect([...folders].sort()).toEqual(['1-local-questions', basename(NEWEST)]);
    const kinds = new Set((await readdir(NEWEST)).map((file) => idOf(file)));
    expect([...kinds].sort()).toEqual(Object.keys(KINDS).sort());
  });
  test.each(files)('%s', async (file) => {
    await replay(JSON.parse(await readFile(`${FOLDER}${file}`, 'utf8')), idOf(file));
  });
});

/** The run's id, by the name of the file. */
function idOf(file: string): string {
  return basename(file).replace(/(\.\d+)?\.json$/, '');
}

/** Makes the run; its executions' events. */
async function made(name: string, kind: Kind) {
  const { script, agent, agents, start, act, ends } = kind;
  rig = await startRig({ address: server.address, script, ...(agent && { agent }), ...(agents && { agents }) });
  const run = await rig.start({ id: name, ...start, workflow: { workflowIdReusePolicy: 'ALLOW_DUPLICATE' } });
  await act?.(run, rig);
  const { status, reason } = await run.result();
  expect(`${status}/${reason}`).toBe(ends);
  const history = [];
  for (const execution of await executionsOf(rig.temporal, run.id)) {
    history.push(await eventsOf(rig.temporal, run.id, execution));
  }
  if (name === 'continued-as-new' || name === 'laps') expect(history.length).toBeGreaterThan(1);
  return { history, id: run.id };
}

/** Writes a history without anything of the machine that made it. */
async function keep(name: string, events: readonly temporal.api.history.v1.IHistoryEvent[]): Promise<void> {
  const history = temporal.api.history.v1.History.fromObject({ events });
  const json = JSON.stringify(JSON.parse(historyToJSON(history)), (key, value: unknown) =>
    key === 'stackTrace' ? '' : value,
  )
    // Workers and clients name themselves by process id and host.
    .replaceAll(/\d+@[\w.-]+/g, 'recorder');
  const readable = json.replaceAll(/"data":"([^"]*)"/g, (_, data: string) => Buffer.from(data, 'base64').toString());
  for (const secret of [`@${hostname()}`, process.cwd(), tmpdir()]) {
    if (readable.includes(secret))
      throw new Error(`The history of ${name} has "${secret}" in it, which is of this machine.`);
  }
  await writeFile(`${NEWEST}${name}.json`, `${json}\n`);
}
