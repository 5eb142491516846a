/** Any conversation, any cut, once and again: valid for every provider, and what people said is still there. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  applyCompaction,
  cutToTokens,
  isFromPeople,
  planCompaction,
  previousSummary,
  summaryTokens,
  turnStarts,
  withoutSummary,
  type CompactionPlan,
} from '../../src/conversation/compaction.js';
import type { AssistantMessage, Message, UserKind, UserMessage } from '../../src/conversation/message.js';
import { strictComplaint } from '../../src/conversation/strict.js';
import { estimateMessages } from '../../src/conversation/estimate.js';
import { normalise } from '../../src/models/normalise.js';
import { DEFAULT_TRAITS } from '../../src/models/traits.js';
import { wireMessages } from '../../src/models/wire.js';

const said = (text: string, kind: UserKind = 'steering'): UserMessage => ({ role: 'user', kind, text });
const task = said('Check the invoices.', 'task');

/** An assistant message with so many calls, and their results. */
function turn(id: number, calls: number, resultChars: number): Message[] {
  const toolCalls = Array.from({ length: calls }, (_, at) => ({ id: `c${id}_${at}`, name: 'f', arguments: '{"a":1}' }));
  const answer: AssistantMessage = { role: 'assistant', text: `Turn ${id}.`, ...(calls > 0 && { toolCalls }) };
  const results = toolCalls.map((call): Message => {
    return { role: 'tool', callId: call.id, name: 'f', text: `${id}:`.padEnd(resultChars, 'r') };
  });
  return [answer, ...results];
}

const anyText = fc.oneof(
  fc.string({ minLength: 1, maxLength: 40 }).map((text) => `x${text}`),
  fc.integer({ min: 1, max: 3000 }).map((length) => '🌍'.repeat(length)),
);
const anyUser = fc.oneof(
  fc.record({
    role: fc.constant('user' as const),
    kind: fc.constantFrom<UserKind>('steering', 'follow_up', 'handoff'),
    text: anyText,
  }),
  // Everlap's own words are short.
  fc.record({
    role: fc.constant('user' as const),
    kind: fc.constantFrom<UserKind>('notice', 'summary'),
    text: fc.string({ minLength: 1, maxLength: 200 }),
  }),
);
const anyTurn = fc.record({
  before: fc.array(anyUser, { maxLength: 2 }),
  calls: fc.integer({ min: 0, max: 3 }),
  resultChars: fc.integer({ min: 1, max: 20_000 }),
});
const anyConversation = fc
  .record({ turns: fc.array(anyTurn, { maxLength: 12 }), after: fc.array(anyUser, { maxLength: 2 }) })
  .map(({ turns, after }): Message[] => [
    task,
    ...turns.flatMap(({ before, calls, resultChars }, at) => [...before, ...turn(at, calls, resultChars)]),
    ...after,
  ]);
const anyAim = fc.record({
  keepTurns: fc.integer({ min: 1, max: 8 }),
  targetTokens: fc.integer({ min: 100, max: 60_000 }),
});

function expectValid(messages: readonly Message[]): void {
  const wire = wireMessages(messages, 'Be good.', DEFAULT_TRAITS);
  expect(strictComplaint(JSON.parse(JSON.stringify(wire)))).toBeNull();
  // Nothing had to be repaired: no result was made up, none was without its call.
  const repaired = normalise(messages).filter(({ role }) => role !== 'user');
  expect(repaired).toEqual(messages.filter(({ role }) => role !== 'user'));
}

/** A plan that takes nothing away needs no summary. */
const summarised = (plan: CompactionPlan, summary: string): CompactionPlan =>
  plan.cutAt > 0 ? { ...plan, summary } : plan;

const words = (messages: readonly Message[]): string[] => messages.filter(isFromPeople).map(({ text }) => text);

describe('any conversation, any cut, twice', () => {
  it('stays valid, with the task and the words of people, and with the newest turns as they were', () => {
    fc.assert(
      fc.property(anyConversation, anyAim, anyAim, fc.boolean(), (messages, aim, second, fails) => {
        let before = messages;
        for (const { keepTurns, targetTokens } of [aim, second]) {
          const plan = planCompaction(before, { keepTurns, targetTokens });
          const whole = fails ? withoutSummary(before, plan, aim) : summarised(plan, 'They did much.');
          const after = applyCompaction(before, whole);
          expectValid(after);
          expect(after[0]).toEqual(task);
          if (plan.wordsTo === undefined) expect(words(after)).toEqual(words(before));
          expect(after.length).toBeLessThanOrEqual(before.length + 3);
          before = [...after, ...turn(100 + before.length, 2, 5000)];
        }
      }),
      { numRuns: 300 },
    );
  });

  it('at every single turn', () => {
    fc.assert(
      fc.property(anyConversation, (messages) => {
        for (const cutAt of turnStarts(messages)) {
          for (const plan of [
            { cutAt, summary: 'S' },
            { cutAt, unsummarised: true as const },
            { cutAt, slimTo: 50 },
          ]) {
            const after = applyCompaction(messages, plan);
            expectValid(after);
            expect(words(after)).toEqual(words(messages));
          }
        }
      }),
      { numRuns: 100 },
    );
  });

  it('fits, where the task alone does', () => {
    fc.assert(
      fc.property(anyConversation, fc.integer({ min: 1, max: 8 }), (messages, keepTurns) => {
        const targetTokens = 30_000;
        const plan = planCompaction(messages, { keepTurns, targetTokens });
        const summary = cutToTokens('s'.repeat(100_000), summaryTokens(targetTokens));
        const after = applyCompaction(messages, summarised(plan, summary));
        expect(estimateMessages(after)).toBeLessThanOrEqual(targetTokens);
      }),
      { numRuns: 200 },
    );
  });
});

describe('the mildest plan', () => {
  const small = [task, ...Array.from({ length: 10 }, (_, at) => turn(at, 1, 100)).flat()];

  it('changes nothing that fits already', () => {
    const plan = planCompaction(small, { keepTurns: 4, targetTokens: 10_000 });
    expect(applyCompaction(small, plan)).toEqual(small);
  });

  it('slims giant older results before it takes a turn away', () => {
    const messages = [task, ...turn(0, 1, 200_000), ...small.slice(1)];
    const plan = planCompaction(messages, { keepTurns: 4, targetTokens: 10_000 });
    expect(plan.cutAt).toBe(0);
    const after = applyCompaction(messages, plan);
    expect(after).toHaveLength(messages.length);
    expect(after[2]?.text).toContain('characters left out');
    expect(after.slice(3)).toEqual(messages.slice(3));
  });

  it('leaves the newest turns whole where they fit', () => {
    const messages = [task, ...Array.from({ length: 50 }, (_, at) => turn(at, 1, 4000)).flat()];
    const after = applyCompaction(messages, planCompaction(messages, { keepTurns: 4, targetTokens: 8000 }));
    expect(after).toEqual([task, ...messages.slice(-8)]);
  });

  it('slims a giant newest result rather than lose its call', () => {
    const messages = [...small, ...turn(99, 1, 300_000)];
    const after = applyCompaction(messages, planCompaction(messages, { keepTurns: 4, targetTokens: 10_000 }));
    expect(after.at(-2)).toEqual(messages.at(-2));
    expect(after.at(-1)?.text.length).toBeLessThanOrEqual(8000);
  });

  it('cuts before the words that a turn began with, so that they stay behind the summary', () => {
    const messages = [...small, said('Now the second half.'), ...turn(99, 1, 100)];
    const plan = planCompaction(messages, { keepTurns: 1, targetTokens: 300 });
    const after = applyCompaction(messages, summarised(plan, 'S'));
    expect(after.map(({ role, text }) => [role, text.slice(0, 9)])).toEqual([
      ['user', 'Check the'],
      ['user', '[SUMMARY]'],
      ['user', 'Now the s'],
      ['assistant', 'Turn 99.'],
      ['tool', '99:rrrrrr'],
    ]);
  });

  it('keeps an answer at the end that is still being continued, and what stands behind it', () => {
    const tail: Message[] = [{ role: 'assistant', text: 'Half an' }, said('Go on.', 'notice')];
    const messages = [...small, ...turn(98, 1, 100_000), ...tail];
    const plan = planCompaction(messages, { keepTurns: 4, targetTokens: 200 });
    expect(applyCompaction(messages, plan).slice(-2)).toEqual(tail);
  });
});

describe('words of people', () => {
  it('stay as they are up to a share of the room', () => {
    const messages = [
      task,
      ...Array.from({ length: 20 }, (_, at) => [said(`${at}`.padEnd(400, 'w')), ...turn(at, 1, 9000)]).flat(),
    ];
    const after = applyCompaction(messages, planCompaction(messages, { keepTurns: 2, targetTokens: 8000 }));
    expect(words(after)).toEqual(words(messages));
  });

  it('of 200 steerings of 200 KB each keeps something, marked, within the room', () => {
    const messages = [
      task,
      ...Array.from({ length: 200 }, (_, at) => [said(`n${at}`.padEnd(200_000, 'w')), ...turn(at, 1, 10)]).flat(),
    ];
    const plan = planCompaction(messages, { keepTurns: 4, targetTokens: 60_000 });
    const after = applyCompaction(messages, summarised(plan, 'S'));
    expect(estimateMessages(after)).toBeLessThanOrEqual(60_000);
    expect(after[0]).toEqual(task);
    expect(words(after)).toHaveLength(201);
    expect(words(after)[1]).toContain('characters left out');
  });

  it('of ten thousand short ones keeps the newest, and says that others are missing', () => {
    const messages = [task, ...Array.from({ length: 10_000 }, (_, at) => [said(`n${at}`), ...turn(at, 0, 0)]).flat()];
    const plan = planCompaction(messages, { keepTurns: 4, targetTokens: 20_000 });
    const after = applyCompaction(messages, summarised(plan, 'S'));
    expect(estimateMessages(after)).toBeLessThanOrEqual(20_000);
    expect(after[0]).toEqual(task);
    expect(after[1]?.text).toContain('[EARLIER MESSAGES LEFT OUT]');
    expect(words(after).at(-1)).toBe('n9999');
  });

  it('the newest stay, shortened, however little room there is', () => {
    const messages = [said('n0'), ...turn(0, 1, 9000), said('n1'.padEnd(50_000, 'w'))];
    for (const targetTokens of [1, 50, 200, 1000]) {
      const after = applyCompaction(messages, planCompaction(messages, { keepTurns: 1, targetTokens }));
      expect(words(after).at(-1)).toMatch(/^n1w/);
    }
  });

  it('a task of 1 MB is cut, the start and the end of it stay', () => {
    const long = said(`START${'t'.repeat(1_000_000)}END`, 'task');
    const after = applyCompaction([long], planCompaction([long], { keepTurns: 4, targetTokens: 50_000 }));
    expect(after).toHaveLength(1);
    expect(after[0]?.text).toMatch(/^START[^]*characters left out[^]*END$/);
  });
});

describe('summaries', () => {
  const messages = [task, ...Array.from({ length: 10 }, (_, at) => turn(at, 1, 3000)).flat()];
  const aim = { keepTurns: 2, targetTokens: 4000 };
  const once = applyCompaction(messages, { ...planCompaction(messages, aim), summary: 'The first.' });
  const grown = [...once, ...Array.from({ length: 10 }, (_, at) => turn(50 + at, 1, 3000)).flat()];

  it('are marked as information', () => {
    expect(once[1]?.text).toMatch(/^\[SUMMARY\].*information, not an instruction/);
    expect(previousSummary(once)).toBe('The first.');
  });

  it('are replaced by newer ones', () => {
    const twice = applyCompaction(grown, { ...planCompaction(grown, aim), summary: 'The second.' });
    expect(twice.filter((message) => message.role === 'user' && message.kind === 'summary')).toHaveLength(1);
    expect(previousSummary(twice)).toBe('The second.');
  });

  it('stay where the next one failed, again and again, and it is said that turns are missing', () => {
    let after: Message[] = grown;
    for (let times = 0; times < 3; times += 1) {
      after = applyCompaction(after, withoutSummary(after, planCompaction(after, aim), aim));
      expect(previousSummary(after)).toBe('The first.');
      expect(after.filter(({ text }) => text.startsWith('[EARLIER TURNS LEFT OUT]'))).toHaveLength(1);
      after.push(...Array.from({ length: 10 }, (_, at) => turn(100 + times * 20 + at, 1, 3000)).flat());
    }
  });

  it('a plan that takes nothing away needs none', () => {
    const plan: CompactionPlan = { cutAt: 0, slimTo: 500 };
    expect(withoutSummary(messages, plan, aim)).toBe(plan);
  });
});
