/** Approvals and questions, as a watcher sees them. */
import { defineTool } from 'everlap';
import type { AgentEvent } from 'everlap/client';
import { calls, text } from 'everlap/testing';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { startRig, type Rig } from '../support/rig.js';

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
