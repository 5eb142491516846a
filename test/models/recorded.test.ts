/** Every recorded exchange, read as expected.json says, over HTTP and cut anywhere. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openaiChat } from '../../src/models/openai-chat.js';
import { ModelFailure, type ModelAnswer, type ModelRequest } from '../../src/models/provider.js';
import { readReply } from '../../src/models/read-reply.js';
import { failureOfError, failureOfReply } from '../../src/models/failure-class.js';
import { answerOf } from '../../src/models/answer.js';
import { asWords, pieces, type Recording, recordings, serve, type Served, streamOf } from './recorded.js';

const all = recordings();
const streams = all.filter((recording) => recording.name.endsWith('.sse'));
const context = { model: 'm', server: 's', keySource: 'K', secrets: [], nowMs: 0 };

/** Where the recordings are missing, their tests are not there either. */
function whereRecorded(name: string, tests: () => void): void {
  if (all.length > 0) describe(name, tests);
}

it('a stream of our own, byte by byte', async () => {
  const chunk = { choices: [{ index: 0, delta: { content: 'é🌍' }, finish_reason: 'stop' }] };
  const { assembled } = await read(pieces(Buffer.from(`data: ${JSON.stringify(chunk)}\r\n\r\ndata: [DONE]`), 1));
  expect(assembled).toMatchObject({ text: 'é🌍', finishReason: 'stop', isWhole: true });
});

const request: ModelRequest = {
  model: 'some-model',
  instructions: 'Be brief.',
  messages: [{ role: 'user', kind: 'task', text: 'Do it.' }],
  tools: [],
  toolChoice: 'auto',
  signal: new AbortController().signal,
  onEvent: () => undefined,
};

function read(parts: readonly Uint8Array[]) {
  return readReply(streamOf(parts), { signal: new AbortController().signal, onEvent: () => undefined, lingerMs: 1000 });
}

function outcome(error: unknown): string {
  if (!(error instanceof ModelFailure)) throw error;
  return error.failureClass;
}

/** The judgement of the recordings' own notes: the cut-off at `length` is no error of its own. */
function expectedError({ name, expected }: Recording): string | null {
  return name.startsWith('16-') ? null : (expected.error?.class ?? null);
}

function checkAnswer({ expected }: Recording, { message, usage, finish }: ModelAnswer): void {
  expect(asWords(message.text)).toEqual(expected.refusal ?? expected.text);
  expect(message.reasoning === undefined ? null : asWords(message.reasoning)).toEqual(expected.reasoning);
  const calls = message.toolCalls ?? [];
  expect(calls.map((call) => ({ name: call.name, arguments: JSON.parse(call.arguments) as unknown }))).toEqual(
    expected.toolCalls.map(({ name, arguments: parsed }) => ({ name, arguments: parsed })),
  );
  for (const [at, call] of calls.entries()) expect(call.id).toBe(expected.toolCalls[at]?.id ?? '');
  expect(usage && { input: usage.input, output: usage.output }).toEqual(expected.usage);
  expect(finish).toBe(expected.finish === 'length' ? 'length' : 'end');
}

whereRecorded('over HTTP', () => {
  let served: Served;
  let current: { recording: Recording; size: number };
  beforeAll(async () => {
    served = await serve((_, response) => {
      const { status, headers, body } = current.recording;
      response.writeHead(status, headers);
      for (const piece of pieces(body, current.size)) response.write(piece);
      response.end();
    });
  });
  afterAll(() => served.close());

  for (const recording of all) {
    const sizes = recording.body.length > 100_000 ? [1000, Infinity] : [1, 7, Infinity];
    it.each(sizes)(`${recording.name} in pieces of %d`, async (size) => {
      current = { recording, size };
      const provider = openaiChat({ baseUrl: served.baseUrl, apiKey: 'sk-secret' });
      const asked = provider.answer(request);
      const error = expectedError(recording);
      if (error === null) checkAnswer(recording, await asked);
      else expect(await asked.then(() => 'an answer', outcome)).toBe(error);
    });
  }
});

whereRecorded('what had come before an error', () => {
  for (const recording of all.filter(({ expected, status }) => expected.error && status === 200)) {
    it(recording.name, async () => {
      const { assembled } = await read([recording.body]);
      expect(asWords(assembled.text)).toEqual(recording.expected.text);
      expect(assembled.reasoning === '' ? null : asWords(assembled.reasoning)).toEqual(recording.expected.reasoning);
      expect(assembled.toolCalls).toEqual([]);
      expect(assembled.finishReason).toBe(recording.expected.finish);
    });
  }
});

whereRecorded('cut anywhere', () => {
  it.each(streams.map((recording) => [recording.name, recording] as const))('%s byte by byte', async (_, { body }) => {
    expect(await read(pieces(body, 1))).toEqual(await read([body]));
  });

  it('reads the same from any split', async () => {
    const small = streams.filter(({ body }) => body.length < 30_000);
    const whole = new Map(await Promise.all(small.map(async (r) => [r.name, await read([r.body])] as const)));
    const split = fc
      .constantFrom(...small)
      .chain((recording) =>
        fc.tuple(fc.constant(recording), fc.array(fc.nat(recording.body.length), { maxLength: 30 })),
      );
    await fc.assert(
      fc.asyncProperty(split, async ([recording, cuts]) => {
        const places = [0, ...cuts.toSorted((a, b) => a - b), recording.body.length];
        const parts = places.slice(1).map((end, at) => recording.body.subarray(places[at], end));
        expect(await read(parts)).toEqual(whole.get(recording.name));
      }),
      { numRuns: 150 },
    );
  });

  it('takes no beginning for an answer unless a finish reason or [DONE] was in it', async () => {
    const beginning = fc
      .constantFrom(...streams.filter(({ body }) => body.length < 30_000))
      .chain((recording) => fc.tuple(fc.constant(recording), fc.nat(recording.body.length)));
    await fc.assert(
      fc.asyncProperty(beginning, async ([recording, length]) => {
        const part = recording.body.subarray(0, length);
        const answer = answerOf(await read([part]), context);
        if ('sentence' in answer) return;
        expect(part.toString()).toMatch(/"finish_reason": ?"|\[DONE\]/);
      }),
      { numRuns: 300 },
    );
  });
});

whereRecorded('error bodies, by class', () => {
  for (const { name, status, headers, body, expected } of all.filter((recording) => recording.status !== 200)) {
    it(name, () => {
      const failure = failureOfReply({ status, headers: new Headers(headers), body: body.toString() }, context);
      expect(failure.failureClass).toBe(expected.error?.class);
      expect(failure.retryAfterMs).toBe(headers['retry-after'] === undefined ? undefined : 1000);
    });
  }

  it('09 and 16 inside a stream', async () => {
    for (const [start, failureClass] of [
      ['09', 'transient'],
      ['16', 'bad_request'],
    ] as const) {
      const recording = streams.find(({ name }) => name.startsWith(start));
      const { assembled } = await read([recording?.body ?? new Uint8Array()]);
      expect(failureOfError(assembled.error, context).failureClass).toBe(failureClass);
    }
  });
});

whereRecorded('fields to be sent back', () => {
  async function extra(start: string) {
    const recording = all.find(({ name }) => name.startsWith(start));
    const answer = answerOf(await read([recording?.body ?? new Uint8Array()]), context);
    if ('sentence' in answer) throw new Error(answer.sentence);
    return answer.message.extra;
  }

  it('reasoning with its signature, as one entry (14)', async () => {
    const fields = await extra('14');
    const details = fields?.['reasoning_details'];
    expect(details).toEqual([
      {
        type: 'reasoning.text',
        text: fields?.['reasoning'],
        format: 'anthropic-claude-v1',
        index: 0,
        signature: expect.any(String) as string,
      },
    ]);
  });

  it('reasoning_content (08) and thought signatures (25)', async () => {
    expect(await extra('08')).toEqual({ reasoning_content: expect.stringMatching(/^The user is asking/) as string });
    expect(await extra('25')).toEqual({
      extra_content: { google: { thought: true, thought_signature: 'thought_signature-rec25' } },
      thought_signature: 'thought_signature-rec25',
    });
  });

  it('that thinking came in the content (12)', async () => {
    expect(await extra('12')).toEqual({ thinking_in_content: true });
  });

  it('none of the marks of single deltas (09, 13, 23)', async () => {
    expect(await extra('13')).toBeUndefined();
    expect(await extra('23')).toBeUndefined();
  });
});
