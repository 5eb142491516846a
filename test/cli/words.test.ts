/** What is pure of the command: figures, texts that are safe to show, settings, links, and the transcript of a run. */
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { sentenceOf } from '../../src/cli/cli-error.js';
import { doingAfter } from '../../src/cli/doing.js';
import { count, durationText, usdText } from '../../src/cli/figures.js';
import { watchCommand } from '../../src/cli/follow-run.js';
import { oneLine, printable } from '../../src/cli/output.js';
import { settingsOf } from '../../src/cli/settings.js';
import { Transcript } from '../../src/cli/transcript.js';
import { runUrl } from '../../src/cli/ui-link.js';
import { RunBusyError, RunEndedError } from '../../src/client/errors.js';
import type { LiveEvent } from '../../src/watch/agent-event.js';

afterEach(() => vi.restoreAllMocks());

describe('texts', () => {
  it('never steer a terminal, whatever is in them', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 40 }), (text, max) => {
        // eslint-disable-next-line no-control-regex -- these are what is looked for
        expect(printable(text)).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]/);
        const line = oneLine(text, max);
        expect(line).not.toContain('\n');
        expect([...line].length).toBeLessThanOrEqual(max);
      }),
    );
  });

  it('stay as they are where they are harmless', () => {
    expect(printable('a\tb\nç 👩‍👩‍👧 \r\nc')).toBe('a\tb\nç 👩‍👩‍👧 \nc');
    expect(oneLine('  a \n b  ', 10)).toBe('a b');
    expect(oneLine('👍👍👍👍', 4)).toBe('👍…');
  });

  it('figures', () => {
    expect([0, 7_400, 754_000, 7_200_000].map(durationText)).toEqual(['0:00', '0:07', '12:34', '2:00:00']);
    expect([usdText(null), usdText(0), usdText(1.23456)]).toEqual(['cost unknown', '$0.0000', '$1.2346']);
    expect([count(1, 'turn'), count(1200, 'turn')]).toEqual(['1 turn', '1,200 turns']);
  });

  it('links and commands to copy', () => {
    expect(runUrl('http://x:1/', 'my ns', 'a/b')).toBe('http://x:1/namespaces/my%20ns/workflows/a%2Fb');
    expect(watchCommand("it's", { address: 'h:1', namespace: 'n s' }, 'e:1:0')).toBe(
      `everlap watch 'it'\\''s' --address h:1 --namespace 'n s' --after e:1:0`,
    );
  });
});

describe('errors', () => {
  it.each([
    ['followUp', 'follow-up'],
    ['forceFinish', 'finish'],
    ['setLimits', 'limits'],
    ['setMode', 'mode'],
    ['steer', 'steer'],
  ])('name the command, where the message is called %s', (wire, command) => {
    const said = (text: string): string => sentenceOf(new RunEndedError(text));
    expect(said(`The run r has ended; ${wire} came too late.`)).toBe(`The run r has ended; ${command} came too late.`);
    expect(said(`The run r was ended from outside before it answered ${wire}.`)).toMatch(` it answered ${command}.`);
    expect(sentenceOf(new RunBusyError(`The run r cannot take ${wire} as an update now: x`))).toMatch(` ${command} as`);
    expect(said(`It failed: ${wire} is what a tool said.`)).toContain(wire);
  });
});

describe('settings', () => {
  it('join limits of options with those of --settings, options first', () => {
    expect(settingsOf(undefined, undefined)).toBeUndefined();
    expect(settingsOf('{"model":"m","limits":{"turns":1,"tokens":2}}', { turns: 5 })).toEqual({
      model: 'm',
      limits: { turns: 5, tokens: 2 },
    });
    expect(settingsOf(undefined, { usd: 1 })).toEqual({ limits: { usd: 1 } });
  });
});

describe('the transcript', () => {
  const at = { id: 'x:1:0', time: '2026-01-01T00:00:00.000Z', lap: 1, turn: 1 };
  const started: LiveEvent = { ...at, type: 'run_started', agent: 'a', task: 'T' };
  const turn = (time: string): LiveEvent => ({
    ...at,
    time,
    turn: 2,
    type: 'turn_started',
    model: 'm',
    activityId: '1',
  });
  const runs = (callId: string, args: Record<string, string>): LiveEvent => ({
    ...at,
    type: 'tool_started',
    callId,
    name: 'look',
    args,
  });
  const ran = (callId: string): LiveEvent => ({ ...at, type: 'tool_finished', callId, name: 'look', text: 'seen' });
  const answered = (text: string): LiveEvent => ({
    ...at,
    type: 'model_answered',
    model: 'm',
    text,
    toolCalls: [],
    usage: { input: 10, output: 5 },
  });
  const tokens = (text: string, more: { restarted?: true; skipped?: number } = {}): LiveEvent => ({
    type: 'tokens',
    lap: 1,
    turn: 1,
    attempt: 1,
    text,
    ...more,
  });

  function shown(...events: LiveEvent[]): string {
    let out = '';
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      out += String(text);
      return true;
    });
    const transcript = new Transcript(() => 0);
    events.forEach((event) => transcript.show(event));
    transcript.stop();
    vi.restoreAllMocks();
    return out;
  }

  it('says each word once, however it came in', () => {
    expect(shown(answered('one two'))).toBe('one two\n');
    expect(shown(tokens('one '), tokens('two'), answered('one two'))).toBe('one two\n');
    expect(shown(tokens('one '), answered('one two three'))).toBe('one two three\n');
    expect(shown(tokens('two', { skipped: 4 }), answered('one two three'))).toBe('… two three\n');
    expect(shown(answered(''))).toBe('');
  });

  it('says when words are void', () => {
    expect(shown(tokens('wro'), tokens('ri', { restarted: true }), answered('right'))).toMatch(
      /^wro\n.*void.*\nright\n$/,
    );
    expect(shown(tokens('wrong'), answered('right'))).toMatch(/^wrong\n.*void.*\nright\n$/);
  });

  it('keeps lines whole when something comes in between', () => {
    const received: LiveEvent = { ...at, type: 'steering_received', text: 'stop\nit', via: 'signal' };
    expect(shown(tokens('half a sen'), received)).toBe('half a sen\nSteering received: stop it\n');
  });

  it('does not fail on an event of a newer worker', () => {
    const newer: unknown = { ...at, type: 'from_the_future', what: 1 };
    expect(shown(newer as LiveEvent, answered('on'))).toBe('on\n');
  });

  it('tells how it ended, and what came too late', () => {
    const text = shown(started, answered('The end.'), {
      ...at,
      time: '2026-01-01T00:00:21.000Z',
      type: 'ended',
      result: {
        status: 'exhausted',
        reason: 'max_turns',
        output: 'A summary.',
        turns: 1,
        laps: 1,
        toolCalls: 0,
        usage: { input: 10, output: 5 },
        costUsd: null,
        unconsumedSteering: [{ kind: 'steer', text: 'more' }],
      },
    });
    expect(text).toBe(
      'Agent a: T\nThe end.\n\nexhausted (max_turns) · 1 turn · 0 tool calls · 15 tokens · cost unknown · 0:21\nA summary.\nCame too late (steer): more\n',
    );
  });

  it('counts calls that were run, as the result does, and the time of the events', () => {
    const text = shown(
      started,
      answered('Hm.'),
      runs('a', {}),
      ran('a'),
      ran('denied'),
      turn('2026-01-01T00:00:07.000Z'),
    );
    expect(text).toContain('Turn 2 · m · so far 1 tool call, 15 tokens, 0:07\n');
  });

  it('leaves out figures of a part where the start was not seen', () => {
    expect(shown(answered('Hm.'), turn('2026-01-01T00:00:07.000Z'))).toContain('Turn 2 · m\n');
  });

  it('says which call a result is of, where the name of the tool does not', () => {
    const text = shown(
      runs('a', { at: 'x' }),
      runs('b', { at: 'y' }),
      ran('b'),
      ran('a'),
      runs('c', { at: 'z' }),
      ran('c'),
    );
    expect(text.match(/← .*/g)).toEqual(['← look (at=y): seen', '← look (at=x): seen', '← look: seen']);
    expect(shown(ran('denied'))).toBe('← look (denied): seen\n');
  });
});

describe('the status line', () => {
  const at = { id: 'x:1:0', time: '2026-01-01T00:00:00.000Z', lap: 1, turn: 1 };

  it('does not say "answered" where the answer is calls, and says that something waits', () => {
    const call = { id: 'c', name: 'pay', arguments: '{}' };
    const answer = { ...at, type: 'model_answered', model: 'm', text: '', usage: { input: 1, output: 1 } } as const;
    expect(doingAfter({ ...answer, toolCalls: [call] })).toBe('tools are called');
    expect(doingAfter({ ...answer, toolCalls: [] })).toBe('answered');
    expect(doingAfter({ ...at, type: 'waiting', calls: [] })).toBe('waits for a decision');
    expect(doingAfter({ ...at, type: 'steering_taken', text: 'x' })).toBeUndefined();
  });
});
