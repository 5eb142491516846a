/** Says what waits for a person where nobody is asked here: each call once, with the command that decides it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { PendingView } from '../client.js';
import { askedOf, LOOK_EVERY_MS, viewOf, whereItIsWhole, type Here, type Run } from './decide-here.js';
import { quoted } from './options.js';
import { printable } from './output.js';
import { notShown } from './waiting-call.js';

type Told = Pick<Here, 'options'> & { readonly transcript: Pick<Here['transcript'], 'line'> };

/** Goes on until the signal aborts. */
export async function tellWaiting(run: Pick<Run, 'id' | 'state'>, here: Told, signal: AbortSignal): Promise<void> {
  const told = new Set<string>();
  let untold = 0;
  while (!signal.aborted) {
    const view = await viewOf(run, signal);
    for (const call of view?.pending ?? []) {
      const key = `${call.run} ${call.callId} ${call.since}`;
      if (!told.has(key)) here.transcript.line(printable(waitingText(run.id, call, here)));
      told.add(key);
    }
    const more = view === undefined ? untold : notShown(view);
    if (more > untold) here.transcript.line(`${more} more wait; they are shown as others are decided.`);
    untold = more;
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}

function waitingText(id: string, call: PendingView, { options }: Pick<Here, 'options'>): string {
  const { question, options: choices } = askedOf(call);
  const isQuestion = call.kind === 'question';
  const below = call.run === undefined ? '' : ` --run ${quoted(call.run)}`;
  const command = (name: string, text = ''): string =>
    `  everlap ${name} ${quoted(id)} ${quoted(call.callId)}${text}${below}${options}`;
  return [
    `Call ${call.callId} waits for a person. ${question}${whereItIsWhole(id, call, options)}`,
    ...choices.map((choice, at) => `  ${at + 1}: ${choice}`),
    ...(isQuestion ? [command('answer', ' "TEXT"')] : [command('approve'), command('deny')]),
  ].join('\n');
}
