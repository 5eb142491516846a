/**
 * The bytes of history that a turn costs, exactly: the encoded events between two model calls. The same at turn 20 and
 * at turn 200, since each message is sent once. No time is measured.
 */
import { defineTool } from 'everlap';
import { call, text } from 'everlap/testing';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { bytesOf, eventsOf, type HistoryEvent } from '../support/history.js';
import { startRig, type Rig } from '../support/rig.js';

const TURNS = 210;
/** With one result of 2,000 characters. */
const MOST = 6300;

let rig: Rig;
afterEach(() => rig.stop());

test.each(['activity', 'local'] as const)(
  'a turn with a result of 2,000 characters (%s tool) costs at most 6.3 KB, and no more at turn 200 than at turn 20',
  async (execution) => {
    const read = defineTool({
      name: 'read_page',
      description: 'Reads a page.',
      input: z.object({ page: z.number() }),
      effects: 'none',
      execution,
      execute: ({ page }) => `${page}:`.padEnd(2000, 'x'),
    });
    rig = await startRig({
      agent: { tools: [read], limits: { turns: TURNS } },
      keepBodies: 1,
      script: (_, turn) => (turn < TURNS - 1 ? call('read_page', { page: turn }) : text('Read.')),
    });
    const run = await rig.start();
    expect(await run.result()).toMatchObject({ status: 'completed', turns: TURNS });
    const bytes = bytesPerTurn(await eventsOf(rig.temporal, run.id));
    expect(bytes).toHaveLength(TURNS);

    const early = median(bytes.slice(15, 24));
    const late = median(bytes.slice(195, 204));
    expect(early).toBeLessThanOrEqual(MOST);
    expect(late).toBeLessThanOrEqual(MOST);
    expect(Math.abs(late - early)).toBeLessThanOrEqual(0.03 * early);
  },
  240_000,
);

/** From one scheduled model call to the next. */
function bytesPerTurn(events: readonly HistoryEvent[]): number[] {
  const turns: number[] = [];
  for (const event of events) {
    if (event.activityTaskScheduledEventAttributes?.activityType?.name === 'callModel') turns.push(0);
    const last = turns.length - 1;
    if (last >= 0) turns[last] = (turns[last] ?? 0) + bytesOf(event);
  }
  return turns;
}

/** A single turn may have an event more, where the machine stood still in the middle of it. */
function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
