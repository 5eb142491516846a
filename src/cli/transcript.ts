/**
 * What happens in a run, written for a person: turns, the model's words as they come, tool calls, how it stands. Writes
 * to standard output; knows nothing of connections.
 */
import { tokensOf } from '../workflows/limits.js';
import type { LiveEvent } from '../watch/agent-event.js';
import { showText, type ShownText } from '../watch/shown-text.js';
import { argsText, CallsUnderWay } from './calls-under-way.js';
import { doingAfter, IDLE } from './doing.js';
import { count, durationText, usdText } from './figures.js';
import { oneLine, print, printable, styled } from './output.js';
import { CLEAR_LINE, StatusLine } from './status-line.js';

const SHOWN_CHARS = 120;

const STANDS = {
  paused: 'Paused.',
  waiting: 'Waits for a decision.',
  idle: 'Waits for the next message.',
  resumed: 'Resumed.',
};

type Of<Type extends LiveEvent['type']> = Extract<LiveEvent, { readonly type: Type }>;

export class Transcript {
  private readonly status = new StatusLine(() => (this.atLineStart && this.asking === null ? this.progress() : null));
  /** By the watcher's clock. */
  private readonly watchedFrom: number;
  /** By the events' own times, where its start was seen. */
  private startedAt: number | null = null;
  private atLineStart = true;
  private doing = 'starting';
  private turn = 0;
  private tokens = 0;
  private toolCalls = 0;
  private readonly calls = new CallsUnderWay();
  /** The last answer's, which is shown already. */
  private lastText: string | null = null;
  /** Of the answer that is being made. */
  private shown: ShownText = null;

  /** Somebody is asked something on the last line: nothing is drawn over it, and it is shown again after what comes. */
  asking: { again(): void } | null = null;

  constructor(private readonly now: () => number = Date.now) {
    this.watchedFrom = now();
  }

  show(event: LiveEvent): void {
    const wasIdle = this.doing === IDLE;
    this.keepUp(event);
    switch (event.type) {
      case 'run_started':
        return this.line(styled('dim', `Agent ${event.agent ?? 'of a workflow'}: ${oneLine(event.task ?? '', 300)}`));
      case 'lap_started':
        return event.lap > 1 ? this.line(styled('bold', `Lap ${event.lap}`)) : undefined;
      case 'turn_started':
        this.line();
        return this.line(
          `${styled('bold', `Turn ${event.turn}`)} ${styled('dim', `· ${event.model}${this.soFar(timeOf(event))}`)}`,
        );
      case 'tokens':
        return this.say(event);
      case 'model_answered':
        return this.answered(event);
      case 'attempt_failed':
        return this.trouble(`Attempt ${event.attempt} failed: ${event.error}`);
      case 'model_failed':
        this.shown = null;
        return this.trouble(`${event.model} failed (${event.reason}): ${event.error}`);
      case 'model_retrying':
        return this.trouble(`${event.model} is asked again (${event.cause.replaceAll('_', ' ')}).`);
      case 'tool_started':
        this.calls.started(event);
        return this.line(styled('cyan', `→ ${event.name} ${oneLine(argsText(event.args), SHOWN_CHARS)}`.trimEnd()));
      case 'tool_finished':
        return this.toolFinished(event);
      case 'steering_received':
        return this.line(styled('magenta', `Steering received: ${oneLine(event.text, SHOWN_CHARS)}`));
      case 'follow_up_received':
        return this.line(styled('magenta', `Follow-up received: ${oneLine(event.text, SHOWN_CHARS)}`));
      case 'steering_taken':
      case 'follow_up_taken':
        return this.line(styled('magenta', `Said to the model: ${oneLine(event.text, SHOWN_CHARS)}`));
      case 'notice':
        return this.trouble(`Everlap to the model: ${event.text}`);
      case 'force_finish_requested':
        return this.line(styled('yellow', `Asked to finish${because(event.reason)}.`));
      case 'pause_requested':
      case 'resume_requested':
      case 'cancel_requested':
        return this.line(styled('yellow', `Asked to ${event.type.replace('_requested', '').replace('_', '-')}.`));
      case 'paused':
      case 'waiting':
      case 'idle':
      case 'resumed':
        if (event.type === 'resumed' && wasIdle) return;
        return this.line(styled('yellow', STANDS[event.type]));
      case 'limits_changed':
        return this.line(styled('yellow', `Limits changed: ${oneLine(argsText(event.limits), SHOWN_CHARS)}`));
      case 'decision_received':
        return this.line(styled('yellow', `Decision on ${event.callId}: ${event.decision}`));
      case 'message_ignored':
        return this.trouble(`Not taken (${event.name}): ${event.problem}`);
      case 'compaction_done':
        return this.line(
          styled('dim', event.problem === undefined ? 'The conversation was compacted.' : oneLine(event.problem, 300)),
        );
      case 'verify_started':
        return this.line(styled('cyan', `→ verify: ${oneLine(event.command, SHOWN_CHARS)}`));
      case 'verify_finished':
        return this.verified(event);
      case 'continued_as_new':
        return this.line(styled('dim', 'Goes on in a new execution.'));
      case 'ended':
        return this.ended(event);
      default:
        return; // only where it stands; or a newer worker's: nothing that this version could say about it
    }
  }

  /** Where the run stands, for the status line, without a line of its own. */
  keepUp(event: LiveEvent): void {
    this.turn = event.turn;
    this.doing = doingAfter(event) ?? this.doing;
    if (event.type === 'tool_started') this.toolCalls += 1;
    if (event.type !== 'run_started') return;
    // Also told of a run that begins anew, after a reset.
    this.startedAt = timeOf(event);
    this.tokens = 0;
    this.toolCalls = 0;
  }

  /** A line of the command's own, in between. */
  line(text = ''): void {
    this.write(`${this.atLineStart ? '' : '\n'}${text}\n`);
  }

  stop(): void {
    this.status.stop();
    if (!this.atLineStart) this.write('\n');
  }

  /** Prints what of the answer is not on the screen yet. */
  private say(event: LiveEvent): void {
    const [shown, { text, restart }] = showText(this.shown, event);
    this.shown = shown;
    if (restart) this.line(styled('yellow', '(Those words are void; the answer begins anew.)'));
    if (event.type === 'tokens' && (event.skipped ?? 0) > 0) this.write('… ');
    this.write(printable(text));
  }

  private answered(event: Of<'model_answered'>): void {
    this.say(event);
    if (!this.atLineStart) this.write('\n');
    this.lastText = event.text;
    this.tokens += tokensOf(event.usage);
  }

  private toolFinished(event: Of<'tool_finished'>): void {
    const { text, isError } = event;
    const lines = text.split('\n').length;
    const shown = `${this.calls.finished(event)}: ${oneLine(text, SHOWN_CHARS)}${lines > 1 ? ` (${lines} lines)` : ''}`;
    this.line(isError ? styled('red', `✗ ${shown}`) : styled('dim', `← ${shown}`));
  }

  private verified({ exitCode, output }: Of<'verify_finished'>): void {
    if (exitCode === 0) return this.line(styled('dim', '← verify: passed'));
    const how = exitCode === null ? 'could not be run' : `exit code ${exitCode}`;
    this.line(styled('red', `✗ verify: ${how}${output === '' ? '' : `: ${oneLine(output, SHOWN_CHARS)}`}`));
  }

  private trouble(text: string): void {
    this.line(styled('yellow', oneLine(text, 500)));
  }

  private ended(event: Of<'ended'>): void {
    const { status, reason, output, error, forceFinishReason, turns, toolCalls, usage, costUsd, unconsumedSteering } =
      event.result;
    this.line();
    const colour = status === 'completed' ? 'green' : status === 'failed' ? 'red' : 'yellow';
    const figures = [
      count(turns, 'turn'),
      count(toolCalls, 'tool call'),
      count(tokensOf(usage), 'token'),
      usdText(costUsd),
      ...(this.startedAt === null ? [] : [durationText(timeOf(event) - this.startedAt)]),
    ];
    this.line(
      `${styled('bold', styled(colour, `${status} (${reason})`))} ${styled('dim', `· ${figures.join(' · ')}`)}`,
    );
    if (event.ownResult)
      this.line("The workflow is a team's own, and has a result of its own: `temporal workflow result` shows it.");
    if (error !== undefined) this.line(styled('red', printable(error)));
    if (forceFinishReason !== undefined) this.line(styled('yellow', `Told to finish${because(forceFinishReason)}`));
    if (output !== null && output !== this.lastText) this.line(printable(output));
    for (const { kind, text } of unconsumedSteering) this.trouble(`Came too late (${kind}): ${text}`);
  }

  private progress(): string {
    const soFar = this.soFar(this.now()) || ` · ${durationText(this.now() - this.watchedFrom)}`;
    return `${this.turn > 0 ? `Turn ${this.turn} · ` : ''}${this.doing}${soFar}`;
  }

  /** Nothing where the start was not seen: it would be the figures of a part. */
  private soFar(now: number): string {
    if (this.startedAt === null) return '';
    const time = durationText(now - this.startedAt);
    if (this.tokens === 0) return ` · ${time}`;
    return ` · so far ${count(this.toolCalls, 'tool call')}, ${count(this.tokens, 'token')}, ${time}`;
  }

  private write(text: string): void {
    if (text === '') return;
    this.status.clear();
    print(this.asking === null ? text : `${CLEAR_LINE}${text}`);
    this.atLineStart = text.endsWith('\n');
    if (this.atLineStart) this.asking?.again();
  }
}

function timeOf({ time }: { readonly time: string }): number {
  return Date.parse(time);
}

function because(reason: string | undefined): string {
  return reason === undefined ? '' : `: ${oneLine(reason, 500)}`;
}
