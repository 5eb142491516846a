/** Approvals and questions, as a watcher sees them. */
import { defineTool } from 'everlap';
import type { AgentEvent } from 'everlap/client';
import { calls, text } from 'everlap/testing';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { eventually, startRig, type Rig } from '../support/rig.js';

let rig: Rig;
afterEach(() => rig.stop({ verify: false }));

const tool = (name: string, approval: 'never' | 'always') =>
  defineTool({
    name,
    description: 'Acts.',
    input: z.object({ to: z.string() }),
    effects: 'once',
    approval,
    execute: () => 'done',
  });

test('a run waits for a decision, is told of it, and goes on', async () => {
  const args = { to: 'x' };
  rig = await startRig({
    agent: { tools: [tool('send', 'always'), tool('note', 'never')] },
    script: [
      calls([
        { name: 'send', arguments: args },
        { name: 'note', arguments: args },
        { name: 'send', arguments: { to: 1 } },
      ]),
      text('Sent.'),
    ],
  });
  const run = await rig.start();
  const events: AgentEvent[] = [];
  for await (const event of run.events()) {
    events.push(event);
    if (event.type === 'waiting') await run.approve(event.calls[0]?.callId ?? '');
  }
  const waiting = events.find((event) => event.type === 'waiting');
  expect(waiting?.calls[0]).toMatchObject({ name: 'send', arguments: JSON.stringify(args) });
  expect(events.find((event) => event.type === 'decision_received')).toMatchObject({
    decision: 'approve',
    callId: waiting?.calls[0]?.callId,
    via: 'update',
  });
  expect(events.map(({ type }) => type)).toContain('resumed');
  const started = events.flatMap((event) => (event.type === 'tool_started' ? [event.name] : []));
  expect(started).toEqual(['note', 'send']);
  const results = (await run.messages()).flatMap((message) =>
    message.role === 'tool' ? [[message.callId, message.text]] : [],
  );
  const told = events.flatMap((event) => (event.type === 'tool_finished' ? [[event.callId, event.text]] : []));
  expect(told.sort()).toEqual(results.sort());
});

test('a decision that the run refuses is told as refused', async () => {
  rig = await startRig({
    agent: { tools: [tool('send', 'always')] },
    script: [calls([{ name: 'send', arguments: { to: 'x' }, id: 'c' }]), text('Sent.')],
  });
  const run = await rig.start();
  await eventually(async () => (await run.state()).pending.length === 1);
  await expect(run.approve({ callId: 'c', args: { to: 3 } })).rejects.toThrow(
    /approve was refused: the arguments do not fit/,
  );
  await run.approve('c');
  await run.result();
  const told: AgentEvent[] = [];
  for await (const event of run.events()) told.push(event);
  const decisions = told.filter(({ type }) => type === 'decision_received' || type === 'message_ignored');
  expect(decisions).toMatchObject([
    { type: 'decision_received', callId: 'c' },
    { type: 'message_ignored', name: 'approve', problem: expect.stringMatching(/do not fit the tool send/) as string },
    { type: 'decision_received', callId: 'c' },
  ]);
});
