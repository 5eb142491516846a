/**
 * One run of every kind, small: what the replay test records and replays, and what is kept in `histories/`. A kind that is
 * added here gets its history with the next recording.
 */
import { askHuman, defineTool, agentTool, handoffTo, type AgentDefinition, type AgentOptions } from 'everlap';
import type { RunHandle, StartOptions } from 'everlap/client';
import { answer, call, calls, httpError, text, textOf, type Script } from 'everlap/testing';
import { z } from 'zod';
import { agent } from '../support/agent.js';
import { eventually, type Rig } from '../support/rig.js';

export interface Kind {
  readonly script: Script;
  readonly agent?: Partial<AgentOptions>;
  /** Instead of one agent `tester`; the first is started. */
  readonly agents?: readonly AgentDefinition[];
  readonly start?: Partial<StartOptions>;
  /** What is done to the run while it lives. */
  readonly act?: (run: RunHandle, rig: Rig) => Promise<unknown>;
  /** `status/reason` of its result. */
  readonly ends: string;
}

const n = z.object({ n: z.number() });
const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: n,
  effects: 'none',
  execute: ({ n }) => `seen ${n}`,
});
const glance = defineTool({ ...plain('glance'), effects: 'none', execution: 'local', execute: () => 'glanced' });
const write = defineTool({ ...plain('write'), concurrency: 'serial', effects: 'idempotent', execute: () => 'written' });
const fail = defineTool({
  ...plain('fail'),
  execute: () => {
    throw new Error('It broke.');
  },
});
const pay = defineTool({ ...plain('pay'), approval: 'always', execute: ({ n }) => `paid ${n}` });
/** Takes its time, unless it is stopped. */
const slow = defineTool({
  ...plain('slow'),
  effects: 'none',
  execute: (_, { signal }) =>
    new Promise((resolve) => {
      const timer = setTimeout(() => resolve('slowly done'), 1500);
      signal.addEventListener('abort', () => {
        clearTimeout(timer);
        resolve('stopped');
      });
    }),
});

function plain(name: string) {
  return { name, description: `Does ${name}.`, input: n, execute: ({ n }: { n: number }): unknown => n };
}

const inTools = (run: RunHandle): Promise<unknown> =>
  eventually(async () => (await run.state()).phase === 'tools', 'the tools');
const waiting = (run: RunHandle): Promise<string> =>
  eventually(async () => (await run.state()).pending[0]?.callId, 'a waiting call');

export const KINDS: Readonly<Record<string, Kind>> = {
  answered: { script: [text('Hello.')], ends: 'completed/answered' },
  tools: {
    agent: { tools: [look, fail] },
    script: [call('look', { n: 1 }), call('fail', { n: 1 }), call('gone', {}), call('look', '{"n":'), text('Done.')],
    ends: 'completed/answered',
  },
  parallel: {
    agent: { tools: [look, write, fail] },
    script: [
      calls(['look', 'look', 'write', 'fail', 'look'].map((name, i) => ({ name, arguments: { n: i } }))),
      text('Done.'),
    ],
    ends: 'completed/answered',
  },
  'local-tools': {
    agent: { tools: [glance] },
    script: [call('glance', { n: 1 }), call('glance', { n: 2 }), text('Done.')],
    ends: 'completed/answered',
  },
  steering: {
    agent: { tools: [slow] },
    script: [call('slow', { n: 1 }), text('One.'), text('Two.')],
    act: async (run) => {
      await inTools(run);
      await run.temporal.signal('steer', 'by signal');
      await run.steer({ text: 'by update', id: 'a' });
      await run.steer({ text: 'by update', id: 'a' });
      await run.followUp('and then?');
      await run.setLimits({ turns: 40 });
    },
    ends: 'completed/answered',
  },
  paused: {
    agent: { tools: [slow] },
    script: [call('slow', { n: 1 }), text('Done.')],
    act: async (run) => {
      await inTools(run);
      await run.pause();
      await run.temporal.signal('steer', 'while paused');
      await run.resume();
    },
    ends: 'completed/answered',
  },
  'force-finished': {
    agent: { tools: [slow] },
    script: [calls([1, 2].map((i) => ({ name: 'slow', arguments: { n: i } })))],
    act: async (run) => {
      await inTools(run);
      await run.forceFinish({ output: 'Enough.' });
    },
    ends: 'stopped/force_finished',
  },
  cancelled: {
    agent: { tools: [slow] },
    script: [call('slow', { n: 1 })],
    act: async (run) => {
      await inTools(run);
      await run.cancel();
    },
    ends: 'cancelled/cancelled',
  },
  deadline: {
    agent: { tools: [slow], limits: { duration: '1 second' } },
    script: [call('slow', { n: 1 })],
    ends: 'exhausted/deadline',
  },
  fallback: {
    agent: { model: { name: 'gpt-5-mini', attempts: 1 }, fallbackModels: ['gpt-4.1-mini'] },
    script: [httpError(503), text('From the other one.')],
    ends: 'completed/answered',
  },
  retried: {
    script: [httpError(429, { headers: { 'retry-after-ms': '500' } }), httpError(500), text('At last.')],
    ends: 'completed/answered',
  },
  'empty-answer': { script: [answer(), answer()], ends: 'failed/empty_answer' },
  'answer-cut': {
    script: [text('Half a ', { finish: 'length' }), text('sentence.')],
    ends: 'completed/answered',
  },
  stuck: {
    agent: { tools: [look] },
    script: () => call('look', { n: 1 }),
    ends: 'stopped/stuck',
  },
  'summed-up': {
    agent: { tools: [look], limits: { turns: 2 }, onLimit: 'summarize' },
    script: (request, turn) => (turn < 2 ? call('look', { n: request.index }) : text('So far: two looks.')),
    ends: 'exhausted/max_turns',
  },
  failed: { script: [httpError(401)], ends: 'failed/auth' },
  'unknown-agent': { script: [], start: { agent: 'nobody' }, ends: 'failed/unknown_agent' },
  'in-a-form': {
    agent: { tools: [look], output: n },
    script: [
      text('One.'),
      calls([
        { name: 'final_answer', arguments: {} },
        { name: 'look', arguments: { n: 1 } },
      ]),
      call('final_answer', { n: 1 }),
    ],
    ends: 'completed/answered',
  },
  approved: {
    agent: { tools: [pay, look] },
    script: [
      calls([
        { name: 'pay', arguments: { n: 1 } },
        { name: 'look', arguments: { n: 2 } },
      ]),
      call('pay', { n: 3 }),
      text('Done.'),
    ],
    act: async (run) => {
      await run.approve({ callId: await waiting(run), args: { n: 2 } });
      const first = await waiting(run);
      await run.deny({ callId: first, reason: 'Too much.' });
    },
    ends: 'completed/answered',
  },
  asked: {
    agent: { tools: [askHuman()] },
    script: [call('ask_human', { question: 'Which?' }), text('Done.')],
    act: async (run) => run.answer({ callId: await waiting(run), text: 'That one.' }),
    ends: 'completed/answered',
  },
  compacted: {
    agent: {
      tools: [defineTool({ ...plain('page'), effects: 'none', execute: ({ n }) => `${n}:`.padEnd(2000, 'x') })],
      context: { window: 4000, keepTurns: 1 },
    },
    script: ({ messages }) => {
      if (textOf(messages[0]).startsWith('You write the summary')) return text('Pages were read.');
      const last = messages.flatMap((message) => message.tool_calls ?? []).at(-1)?.function?.arguments;
      const next = Number(/\d+/.exec(last ?? '0')?.[0]) + 1;
      return next <= 6 ? call('page', { n: next }) : text('Done.');
    },
    ends: 'completed/answered',
  },
  laps: {
    agent: { tools: [look], laps: { max: 3, until: { promise: 'ALL DONE' } } },
    script: [call('look', { n: 1 }), text('Some.'), text('More.'), text('ALL DONE')],
    ends: 'completed/promise_kept',
  },
  session: {
    agent: { session: { limits: { turns: 2 } }, tools: [look] },
    start: { task: '' },
    script: [text('One.'), call('look', { n: 1 }), call('look', { n: 2 }), text('Three.')],
    act: async (run) => {
      await run.followUp('First.');
      await run.followUp('Second, which is too long for its limit.');
      await run.followUp('Third.');
      await run.forceFinish();
    },
    ends: 'stopped/force_finished',
  },
  'sub-agents': {
    agents: [agent('chief', { tools: [agentTool(agent('clerk'), { description: 'Does one task.' })] })],
    script: ({ messages }) => {
      if (textOf(messages[0]) === 'You are clerk.') return text('The clerk did it.');
      return messages.length > 2 ? text('Done.') : call('clerk', { task: 'Do one thing.' });
    },
    ends: 'completed/answered',
  },
  handoff: {
    agents: [agent('desk', { tools: [handoffTo(agent('expert', { tools: [look] }))] })],
    script: [call('handoff_to_expert'), call('look', { n: 1 }), text('Solved.')],
    ends: 'completed/answered',
  },
  'continued-as-new': {
    agent: { tools: [look] },
    script: ({ messages }) => {
      const turn = messages.filter(({ role }) => role === 'assistant').length + 1;
      return turn < 12 ? call('look', { n: turn }) : text('Done.');
    },
    act: async (run) => {
      await run.steer('one');
      await run.temporal.signal('followUp', 'two');
    },
    ends: 'completed/answered',
  },
};
