/** The translator on plain history: what real runs seldom show, and what no history may do to it. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AgentEvent } from '../../src/watch/agent-event.js';
import { HistoryTranslator } from '../../src/watch/history-events.js';
import type { HistoryContent } from '../../src/watch/history-event.js';

const RUN = '01a22a62-21af-7a5b-b420-20b0de201a09';

/** Translates a history whose events are numbered from 1 on. */
function translate(...contents: readonly HistoryContent[]): AgentEvent[] {
  const translator = new HistoryTranslator(RUN);
  return contents.flatMap((content, index) => translator.translate({ eventId: index + 1, time: 'now', ...content }));
}

const told = (events: readonly AgentEvent[]): string[] =>
  events.map((event) => ('text' in event ? `${event.type}: ${event.text}` : event.type));

const started = (input: unknown = { agent: 'a', task: 't' }): HistoryContent => ({
  kind: 'execution_started',
  workflowType: 'agentRun',
  input,
});
const task = { role: 'user', kind: 'task', text: 't' };
const steering = { role: 'user', kind: 'steering', text: '[STEERING] s' };
const says = (text: string) => ({ role: 'assistant', text });
const scheduled = (activity: string, input: unknown): HistoryContent => ({
  kind: 'activity_scheduled',
  activity,
  activityId: '1',
  input,
});
const ask = (turn: number, length: number, delta: readonly unknown[], more: object = {}): HistoryContent =>
  scheduled('callModel', { spec: 's', lap: 1, turn, base: { hash: '', length }, delta, model: 'm', ...more });
const completed = (scheduledId: number, result: unknown): HistoryContent => ({
  kind: 'activity_completed',
  scheduledId,
  result,
});
const failedWith = (scheduledId: number, type: string): HistoryContent => ({
  kind: 'activity_failed',
  scheduledId,
  failure: { kind: 'threw', type, message: 'it broke' },
});
const usage = { input: 10, output: 1 };
const answer = (scheduledId: number, text: string, more: object = {}): HistoryContent =>
  completed(scheduledId, { message: { role: 'assistant', text }, usage, head: 'h', ...more });
const calling = (scheduledId: number, ...names: readonly string[]): HistoryContent =>
  completed(scheduledId, {
    message: {
      role: 'assistant',
      text: '',
      toolCalls: names.map((name, index) => ({ id: `c${index}`, name, arguments: '{"x":1}' })),
    },
    usage,
    head: 'h',
  });
const tool = (name: string, callId: string, more: object = {}): HistoryContent =>
  scheduled(`tool.${name}`, {
    args: { x: 1 },
    call: { runId: 'r', lap: 1, turn: 1, callId, idempotencyKey: 'k' },
    ...more,
  });
const terminated: HistoryContent = { kind: 'closed', how: { status: 'terminated', message: 'gone' } };
const spec = (tools: readonly object[] = []): HistoryContent & { readonly kind: 'local_activity' } => ({
  kind: 'local_activity',
  activity: 'describeAgent',
  seq: 1,
  result: { name: 'a', prices: { m: { input: 1_000_000, output: 0 } }, tools },
});

describe('agents that are called as tools', () => {
  const child = (callId: string): HistoryContent => ({
    kind: 'child_started',
    runId: 'r/1/1/0/h',
    input: { agent: 'clerk', task: 'Count.', parent: { runId: 'r', callId, depth: 1 } },
  });
  const closed = (startedId: number, status: string, output: string | null): HistoryContent => ({
    kind: 'child_closed',
    startedId,
    result: { status, reason: 'r', output, turns: 1, laps: 1, toolCalls: 0, usage, costUsd: 0, unconsumedSteering: [] },
  });

  test('start and answer are the call’s', () => {
    const events = translate(
      started(),
      ask(1, 0, [task]),
      calling(2, 'clerk'),
      child('c0'),
      closed(4, 'completed', 'Seven.'),
    );
    expect(events.slice(-2)).toMatchObject([
      { type: 'tool_started', callId: 'c0', name: 'clerk', args: { x: 1 }, runId: 'r/1/1/0/h' },
      { type: 'tool_finished', callId: 'c0', name: 'clerk', text: 'Seven.' },
    ]);
  });

  test('other ends are told in the words of the conversation, once; or at the end of the run in their own', () => {
    const begun = [started(), ask(1, 0, [task]), calling(2, 'clerk'), child('c0'), closed(4, 'exhausted', null)];
    expect(told(translate(...begun)).at(-1)).toBe('tool_started');
    const result = { role: 'tool', callId: 'c0', name: 'clerk', text: 'It had this.', isError: true };
    const finished = (events: readonly AgentEvent[]) => events.filter(({ type }) => type === 'tool_finished');
    expect(told(finished(translate(...begun, ask(2, 2, [result]))))).toEqual(['tool_finished: It had this.']);
    expect(finished(translate(...begun, terminated))).toMatchObject([
      { text: expect.stringMatching(/reached a limit/) },
    ]);
  });

  test('children that no call has started are no tools', () => {
    expect(told(translate(started(), ask(1, 0, [task]), child('c0'), closed(3, 'completed', 'x')))).not.toContain(
      'tool_started',
    );
  });
});

describe('a message is told once', () => {
  test('the same delta again, after a failure and with another model', () => {
    const delta = [task, steering];
    const events = translate(started(), ask(1, 0, delta), failedWith(2, 'transient'), ask(1, 0, delta, { model: 'n' }));
    expect(told(events)).toEqual([
      'run_started',
      'lap_started',
      'turn_started',
      'steering_taken: [STEERING] s',
      'model_failed',
      'model_retrying',
    ]);
    expect(events.at(-1)).toMatchObject({ model: 'n', cause: 'failure' });
  });

  test('the whole conversation again, after its head was lost', () => {
    const events = translate(
      started(),
      ask(1, 0, [task, steering]),
      answer(2, 'One.'),
      ask(2, 3, [{ ...steering, text: 'again' }]),
      answer(4, 'Two.'),
      ask(3, 0, [
        task,
        steering,
        says('One.'),
        { ...steering, text: 'again' },
        says('Two.'),
        { ...steering, text: 'new' },
      ]),
    );
    expect(told(events).filter((line) => line.startsWith('steering'))).toEqual([
      'steering_taken: [STEERING] s',
      'steering_taken: again',
      'steering_taken: new',
    ]);
  });

  test('steering that takes the place of the parts of a cut answer', () => {
    const notice = { role: 'user', kind: 'notice', text: 'Go on.' };
    const events = translate(
      started(),
      ask(1, 0, [task]),
      answer(2, 'One ', { finish: 'length' }),
      ask(1, 0, [task, says('One '), notice]),
      answer(4, 'two.'),
      ask(2, 0, [task, says('One two.'), steering]),
    );
    expect(told(events)).toEqual([
      'run_started',
      'lap_started',
      'turn_started',
      'model_answered: One ',
      'model_retrying',
      'notice: Go on.',
      'model_answered: two.',
      'turn_started',
      'steering_taken: [STEERING] s',
    ]);
    expect(events[3]).toMatchObject({ cut: true });
    expect(events[4]).toMatchObject({ cause: 'answer_cut' });
  });

  test.each([
    ['with a head', [2, []]],
    ['without one', [0, [task, { role: 'user', kind: 'summary', text: 'sum' }, steering]]],
  ] as const)('a compacted conversation %s', (_, [length, delta]) => {
    const events = translate(
      started(),
      ask(1, 0, [task]),
      answer(2, 'One.'),
      scheduled('compactConversation', {
        lap: 1,
        turn: 2,
        base: { hash: '', length: 2 },
        delta: [steering],
        model: 'm',
      }),
      completed(4, { plan: { cutAt: 1, summary: 'sum' }, usage }),
      ask(2, length, delta),
    );
    expect(told(events).slice(4)).toEqual([
      'steering_taken: [STEERING] s',
      'compaction_started',
      'compaction_done',
      'turn_started',
    ]);
    expect(events[4]).toMatchObject({ turn: 2 });
    expect(events[6]).toMatchObject({ summary: 'sum' });
  });
});

describe('a tool call has one start and one end', () => {
  test('outcome unknown, asked for, not done, run again', () => {
    const events = translate(
      started(),
      ask(1, 0, [task]),
      calling(2, 'pay'),
      tool('pay', 'c0'),
      failedWith(4, 'ToolTimeout'),
      tool('pay', 'c0', { reconcile: true }),
      completed(6, { done: false }),
      tool('pay', 'c0'),
      completed(8, { text: 'paid' }),
      ask(2, 2, [{ role: 'tool', callId: 'c0', name: 'pay', text: 'paid' }]),
    );
    expect(told(events).slice(4)).toEqual(['tool_started', 'tool_finished: paid', 'turn_started']);
  });

  test('outcome unknown: told as the run tells the model, or as it looked when the run was ended', () => {
    const before = [started(), ask(1, 0, [task]), calling(2, 'pay'), tool('pay', 'c0'), failedWith(4, 'ToolTimeout')];
    const result = { role: 'tool', callId: 'c0', name: 'pay', text: 'Outcome unknown', isError: true };
    expect(translate(...before, ask(2, 2, [result])).slice(5)).toMatchObject([
      { type: 'tool_finished', text: 'Outcome unknown', isError: true, turn: 1 },
      { type: 'turn_started', turn: 2 },
    ]);
    expect(told(translate(...before, terminated)).slice(5)).toEqual(['tool_finished: Error: it broke', 'ended']);
  });

  test('a thrown error ends it at once, attempts are told', () => {
    const events = translate(
      started(),
      ask(1, 0, [task]),
      calling(2, 'pay'),
      tool('pay', 'c0'),
      { kind: 'activity_started', scheduledId: 4, attempt: 3 },
      failedWith(4, 'ToolError'),
    );
    expect(events.at(-1)).toMatchObject({ type: 'tool_finished', text: 'Error: it broke', isError: true, attempts: 3 });
  });

  test('results that were too long to travel with the next call are told as history has them', () => {
    const tools = [{ name: 'peek', execution: 'local', approval: 'never' }];
    const local = (seq: number): HistoryContent => ({
      kind: 'local_activity',
      activity: 'tool.peek',
      seq,
      result: { text: `result ${seq}` },
    });
    const events = translate(
      ...[started(), spec(tools), ask(1, 0, [task]), calling(3, 'peek', 'peek'), local(3), local(4), ask(2, 4, [])],
    );
    expect(told(events).slice(4)).toEqual([
      'tool_started',
      'tool_finished: result 3',
      'tool_started',
      'tool_finished: result 4',
      'turn_started',
    ]);
    expect(events[4]).toMatchObject({ turn: 1, callId: 'c0' });
  });

  test('a local activity that only asks whether a call needs an approval is no run of the tool', () => {
    const tools = [{ name: 'pay', execution: 'activity', approval: 'ask' }];
    const gate = (result: unknown): HistoryContent => ({
      kind: 'local_activity',
      activity: 'tool.pay',
      seq: 2,
      result,
    });
    const events = translate(
      started(),
      spec(tools),
      ask(1, 0, [task]),
      calling(3, 'pay'),
      gate({ ask: true }),
      { kind: 'search_attributes', fields: { EverlapStatus: 'waiting' } },
      gate({ text: 'Those arguments do not fit.', isError: true }),
      { kind: 'search_attributes', fields: { EverlapStatus: 'running' } },
      tool('pay', 'c0'),
    );
    expect(told(events).slice(4)).toEqual(['waiting', 'resumed', 'tool_started']);
    expect(events[4]).toMatchObject({ calls: [{ callId: 'c0', name: 'pay', arguments: '{"x":1}' }] });
  });

  test('local activities of one tool that end in another order, in a run that was ended', () => {
    const tools = [{ name: 'peek', execution: 'local', approval: 'never' }];
    const local = (seq: number): HistoryContent => ({
      kind: 'local_activity',
      activity: 'tool.peek',
      seq,
      result: { text: `result ${seq}` },
    });
    const events = translate(
      ...[started(), spec(tools), ask(1, 0, [task]), calling(3, 'peek', 'peek', 'peek')],
      ...[local(4), local(3), terminated],
    );
    expect(events.flatMap((event) => (event.type === 'tool_finished' ? [[event.callId, event.text]] : []))).toEqual([
      ['c0', 'result 3'],
      ['c1', 'result 4'],
    ]);
    expect(events.at(-1)).toMatchObject({ result: { toolCalls: 2, costUsd: 10 } });
  });
});

describe('laps and executions', () => {
  /** As the run writes it: the task, which stands beside it, is ''. */
  const carried = (transition: string, lap: number, after: readonly object[] = [steering]) => ({
    agent: 'a',
    task: 't',
    carried: {
      state: {
        lap,
        turns: 7,
        toolCalls: 3,
        usage: { input: 100, output: 10 },
        costUsd: 0.5,
        transition,
        conversation: { messages: [{ ...task, text: '' }, ...after] },
      },
    },
  });

  test('a run that goes on in the same lap tells neither its start nor the lap again', () => {
    const events = translate(
      started(carried('continued_as_new', 2)),
      ask(8, 0, [task, steering], { lap: 2 }),
      terminated,
    );
    expect(told(events)).toEqual(['turn_started', 'ended']);
    expect(events[0]).toMatchObject({ lap: 2, turn: 8 });
    expect(events[1]).toMatchObject({
      result: { status: 'failed', turns: 7, laps: 2, toolCalls: 3, usage: { input: 100, output: 10 }, costUsd: 0.5 },
    });
  });

  test('a new lap, in a new execution or in the same', () => {
    const inNew = translate(started(carried('next_lap', 3)), ask(8, 0, [task], { lap: 3 }));
    expect(told(inNew)).toEqual(['lap_started', 'turn_started']);
    const inSame = translate(started(), ask(1, 0, [task]), answer(2, 'One.'), ask(2, 0, [task], { lap: 2 }));
    expect(told(inSame).slice(4)).toEqual(['lap_started', 'turn_started']);
    expect(inSame.at(-1)).toMatchObject({ lap: 2, turn: 2 });
  });

  test('steering into a lap that begins in the same execution, with a conversation shorter than the last', () => {
    const events = translate(
      started(),
      ask(1, 0, [task, says('a'), says('b')]),
      answer(2, 'One.'),
      ask(2, 4, [says('c')]),
      answer(4, 'Two.'),
      scheduled('verifyWorkspace', { command: 'make check', call: { runId: 'r', lap: 1 } }),
      completed(6, { exitCode: 1, output: 'red' }),
      ask(3, 0, [task, { role: 'user', kind: 'handoff', text: 'LAP 2' }, steering], { lap: 2 }),
    );
    expect(told(events).slice(6)).toEqual([
      'verify_started',
      'verify_finished',
      'lap_started',
      'turn_started',
      'steering_taken: [STEERING] s',
    ]);
    expect(events[7]).toMatchObject({ exitCode: 1, output: 'red' });
  });

  test('what continue-as-new carries is told before it: results and follow-ups that no model call has sent', () => {
    const input = carried('continued_as_new', 1, [
      says(''),
      { role: 'tool', callId: 'c0', name: 'no', text: 'no such tool', isError: true },
      { role: 'user', kind: 'follow_up', text: 'And?' },
    ]);
    const successor = { newRunId: 'next', cause: 'continued' } as const;
    const events = translate(started(), ask(1, 0, [task]), calling(2, 'no'), { kind: 'continued', successor, input });
    expect(told(events).slice(4)).toEqual(['tool_finished: no such tool', 'follow_up_taken: And?', 'continued_as_new']);
  });

  test('of an execution with one call, nothing is told again before the next', () => {
    const successor = { newRunId: 'next', cause: 'continued' } as const;
    const events = translate(started(carried('continued_as_new', 2)), ask(8, 0, [task, steering], { lap: 2 }), {
      kind: 'continued',
      successor,
      input: carried('continued_as_new', 2),
    });
    expect(told(events)).toEqual(['turn_started', 'continued_as_new']);
  });
});

describe("a team's own workflow", () => {
  const own: HistoryContent = { kind: 'execution_started', workflowType: 'invoices', input: 17 };
  const closed = (result: unknown): HistoryContent => ({ kind: 'closed', how: { status: 'completed', result } });

  test('no agent and task; it completes with a result of its own, which is no failure', () => {
    const events = translate(own, spec(), ask(1, 0, [task]), answer(3, 'One.'), closed({ invoices: 3 }));
    expect(events[0]).toMatchObject({ type: 'run_started', agent: null, task: null });
    const figures = { output: null, turns: 1, laps: 1, toolCalls: 0, usage, costUsd: 10, unconsumedSteering: [] };
    expect(events.at(-1)).toMatchObject({ type: 'ended', ownResult: true });
    expect(events.at(-1)).toHaveProperty('result', { status: 'completed', reason: 'answered', ...figures });
  });

  test('what an agent of it gave is told as it is, where the workflow passes that on', () => {
    const result = { status: 'exhausted', reason: 'max_turns', output: null, turns: 9, laps: 1, toolCalls: 0, usage };
    const passed = { ...result, costUsd: null, unconsumedSteering: [] };
    const end = translate(own, closed(passed)).at(-1);
    expect(end).toHaveProperty('result', passed);
    expect(end).not.toHaveProperty('ownResult');
  });

  test('an agentRun that completes with anything else has failed', () => {
    const end = translate(started(), closed({ invoices: 3 })).at(-1);
    expect(end).toMatchObject({ type: 'ended', result: { status: 'failed', reason: 'internal' } });
    expect(end).not.toHaveProperty('ownResult');
  });

  test.each([
    ['answered', answer(3, 'One.'), 'model_answered: One.'],
    ['failed', failedWith(3, 'auth'), 'model_failed'],
  ])('another agent after one that has %s begins anew, and is asked again where a call of it fails', (_, end, said) => {
    const events = translate(
      ...[own, spec(), ask(1, 0, [task, steering]), end, spec(), ask(1, 0, [task, steering])],
      ...[
        failedWith(6, 'transient'),
        ask(1, 0, [task, steering]),
        answer(8, 'Two.'),
        ask(2, 3, []),
        answer(10, 'Three.'),
      ],
      closed('done'),
    );
    expect(told(events)).toEqual([
      'run_started',
      ...['lap_started', 'turn_started', 'steering_taken: [STEERING] s', said],
      ...['lap_started', 'turn_started', 'steering_taken: [STEERING] s', 'model_failed'],
      ...['model_retrying', 'model_answered: Two.', 'turn_started', 'model_answered: Three.', 'ended'],
    ]);
    expect(events[5]).toMatchObject({ lap: 1, turn: 1 });
    expect(events.at(-1)).toMatchObject({ result: { turns: said === 'model_failed' ? 2 : 3, laps: 2 } });
  });

  test('a handoff looks up an agent too, and begins nothing anew', () => {
    const events = translate(
      own,
      spec(),
      ask(1, 0, [task]),
      calling(3, 'to_b'),
      spec(),
      ask(2, 2, []),
      answer(6, 'B.'),
    );
    expect(told(events).slice(1)).toEqual([
      ...['lap_started', 'turn_started', 'model_answered: ', 'turn_started', 'model_answered: B.'],
    ]);
    expect(events.at(-1)).toMatchObject({ turn: 2 });
  });

  test('it is the same where agents are looked up by ordinary activities', () => {
    const look = (at: number): HistoryContent[] => [scheduled('describeAgent', {}), completed(at, spec().result)];
    const first = [own, ...look(2), ask(1, 0, [task]), answer(4, 'One.')];
    const events = translate(...first, ...look(6), ask(1, 0, [task]), answer(8, 'Two.'), closed('done'));
    const [a, b] = ['model_answered: One.', 'model_answered: Two.'];
    const turn = ['lap_started', 'turn_started'];
    expect(told(events)).toEqual(['run_started', ...turn, a, ...turn, b, 'ended']);
    // Twice 10 tokens, at a million dollars for a million.
    expect(events.at(-1)).toMatchObject({ result: { turns: 2, laps: 2, costUsd: 20 } });
  });
});

test('the summary of an exhausted run is asked with tools off and counts as no turn', () => {
  const events = translate(started(), ask(1, 0, [task], { tools: 'none' }), answer(2, 'Sum.'), terminated);
  expect(events[2]).toMatchObject({ type: 'turn_started', toolsOff: true });
  expect(events.at(-1)).toMatchObject({ result: { turns: 0 } });
});

test('an empty answer is why the model is asked again', () => {
  const events = translate(started(), ask(1, 0, [task]), answer(2, ' '), ask(1, 0, [task]));
  expect(events.at(-1)).toMatchObject({ type: 'model_retrying', cause: 'empty_answer' });
});

test('no history breaks it, however odd: ids stay unique, and the same history gives the same events', () => {
  const value = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom<unknown>(
      undefined,
      { lap: 1, turn: 2, base: { length: 0 }, delta: [task, steering], model: 'm' },
      { message: { text: 'x', toolCalls: [{ id: 'c', name: 't', arguments: '{' }] }, usage },
      { args: {}, call: { callId: 'c' } },
      { text: 'y', id: 'z' },
    ),
  );
  const name = fc.constantFrom('callModel', 'compactConversation', 'tool.t', 'tool.', 'describeAgent');
  const id = fc.integer({ min: 1, max: 12 });
  const failure = fc.constantFrom(
    { kind: 'lost', message: 'm' } as const,
    { kind: 'threw', type: 'ToolError', message: 'm' } as const,
  );
  const content: fc.Arbitrary<HistoryContent> = fc.oneof(
    fc.record({ kind: fc.constant('execution_started' as const), workflowType: fc.constant('agentRun'), input: value }),
    fc.record({
      kind: fc.constant('activity_scheduled' as const),
      activity: name,
      activityId: fc.string(),
      input: value,
    }),
    fc.record({ kind: fc.constant('activity_completed' as const), scheduledId: id, result: value }),
    fc.record({ kind: fc.constant('activity_failed' as const), scheduledId: id, failure }),
    fc.record({ kind: fc.constant('local_activity' as const), activity: name, seq: id, result: value }),
    fc.record({
      kind: fc.constant('message' as const),
      name: fc.constantFrom('steer', 'followUp', 'forceFinish', 'setLimits', 'pause', 'approve', 'setMode', 'other'),
      argument: value,
      via: fc.constantFrom('signal' as const, 'update' as const),
    }),
    fc.record({ kind: fc.constant('update_completed' as const), acceptedId: id, answer: value }),
    fc.record({ kind: fc.constant('memo' as const), fields: fc.dictionary(fc.constant('everlapResult'), value) }),
    fc.record({
      kind: fc.constant('search_attributes' as const),
      fields: fc.dictionary(fc.constant('EverlapStatus'), value),
    }),
  );
  fc.assert(
    fc.property(fc.array(content, { maxLength: 12 }), (contents) => {
      const events = translate(...contents, terminated);
      expect(new Set(events.map((event) => event.id)).size).toBe(events.length);
      expect(events.at(-1)?.type).toBe('ended');
      expect(translate(...contents, terminated)).toEqual(events);
    }),
  );
});
