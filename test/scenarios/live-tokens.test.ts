/** Tokens while they are made: in the heartbeat details of the model activity; a later attempt supersedes an earlier one. */
import { cut, gate, text } from 'everlap/testing';
import type { RunHandle } from 'everlap/client';
import { afterEach, expect, test } from 'vitest';
import { eventually, startRig, type Rig } from '../support/rig.js';

let rig: Rig;
afterEach(() => rig.stop());

async function progressOf(run: RunHandle): Promise<{ attempt: number; text: string; length: number } | undefined> {
  const { raw } = await run.temporal.describe();
  const [payload] = raw.pendingActivities?.[0]?.heartbeatDetails?.payloads ?? [];
  return payload?.data ? (JSON.parse(Buffer.from(payload.data).toString('utf8')) as never) : undefined;
}

test('a failed attempt’s tokens give way to the next one’s, and none of them is in history', async () => {
  const first = gate();
  const second = gate();
  const half = text('A first try that never ends.', { pieceChars: 4, holdAfter: { chunks: 4, until: first } });
  rig = await startRig({
    script: [
      cut(half, { afterChunks: 4 }),
      text('Better.', { pieceChars: 3, holdAfter: { chunks: 2, until: second } }),
    ],
  });
  const run = await rig.start();
  await first.reached;
  const seen = await eventually(async () => {
    const progress = await progressOf(run);
    return progress?.length ? progress : undefined;
  }, 'a first token');
  expect(seen).toMatchObject({ turn: 1, attempt: 1, text: 'A first try '.slice(0, seen.length) });
  first.open();
  await second.reached;
  const better = await eventually(async () => {
    const progress = await progressOf(run);
    return progress?.attempt === 2 && progress.length > 0 ? progress : undefined;
  }, 'a token of the second attempt');
  expect(better).toMatchObject({ turn: 1, attempt: 2, text: 'Bet' });
  second.open();
  expect(await run.result()).toMatchObject({ output: 'Better.', turns: 1 });
  expect(JSON.stringify(await run.messages())).not.toContain('first try');
});
