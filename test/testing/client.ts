/** What the tests of the scripted model ask it with. */
import { z } from 'zod';
import type { ScriptedModel } from '../../src/testing/index.js';

export const go = [{ role: 'user', content: 'Go.' }];

export interface AskOptions {
  readonly messages?: readonly object[];
  readonly stream?: boolean;
  readonly usage?: boolean;
  readonly signal?: AbortSignal;
}

export function ask(model: ScriptedModel, options: AskOptions = {}): Promise<Response> {
  const { messages = go, stream = true, usage = false, signal } = options;
  return fetch(`${model.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer scripted' },
    body: JSON.stringify({ model: 'm', messages, stream, ...(usage && { stream_options: { include_usage: true } }) }),
    ...(signal && { signal }),
  });
}

/** The data of each event, as text. */
export function dataOf(body: string): string[] {
  return body.split('\n\n').flatMap((event) => {
    const line = event.split('\n').find((one) => one.startsWith('data: '));
    return line === undefined ? [] : [line.slice('data: '.length)];
  });
}

/** What came before the connection ended, and whether it ended well. */
export async function drain(response: Response): Promise<{ body: string; whole: boolean }> {
  const pieces: Uint8Array[] = [];
  let whole = true;
  try {
    if (response.body) for await (const piece of response.body) pieces.push(piece);
  } catch {
    whole = false;
  }
  return { body: Buffer.concat(pieces).toString('utf8'), whole };
}

const chunk = z.looseObject({
  choices: z
    .array(z.object({ delta: z.looseObject({ content: z.string().nullish() }), finish_reason: z.string().nullable() }))
    .default([]),
});

function chunksIn(body: string): z.infer<typeof chunk>[] {
  return dataOf(body).flatMap((data) => (data === '[DONE]' ? [] : [chunk.parse(JSON.parse(data))]));
}

/** The deltas of a streamed answer. */
export function deltas(body: string): z.infer<typeof chunk>['choices'][number]['delta'][] {
  return chunksIn(body).flatMap((one) => one.choices.map(({ delta }) => delta));
}

export function finishes(body: string): (string | null)[] {
  return chunksIn(body).flatMap((one) => one.choices.map((choice) => choice.finish_reason));
}

/** Of the chunks that have the field at all. */
export function usages(body: string): unknown[] {
  return chunksIn(body).flatMap((one) => ('usage' in one ? [one['usage']] : []));
}
