/** Which tool calls run, so that a result can be told from that of another call of the same tool. Pure. */
import type { LiveEvent } from '../watch/agent-event.js';
import { oneLine } from './output.js';

const SHOWN_CHARS = 60;

interface Call {
  readonly name: string;
  readonly args: string;
  /** Another call of the tool has run at the same time. */
  beside: boolean;
}

export class CallsUnderWay {
  private readonly calls = new Map<string, Call>();

  started({ callId, name, args }: Extract<LiveEvent, { readonly type: 'tool_started' }>): void {
    const others = [...this.calls.values()].filter((call) => call.name === name);
    others.forEach((call) => (call.beside = true));
    this.calls.set(callId, { name, args: argsText(args), beside: others.length > 0 });
  }

  /** The tool; where that does not say which call it was, with its arguments. One that was not seen to run has its id. */
  finished({ callId, name }: Extract<LiveEvent, { readonly type: 'tool_finished' }>): string {
    const call = this.calls.get(callId);
    this.calls.delete(callId);
    if (call === undefined) return `${name} (${oneLine(callId, SHOWN_CHARS)})`;
    return call.beside ? `${name} (${oneLine(call.args || callId, SHOWN_CHARS)})` : name;
  }
}

/** `path=src pattern="a b"` */
export function argsText(args: object): string {
  return Object.entries(args)
    .map(
      ([name, value]) =>
        `${name}=${typeof value === 'string' && /^[^\s"]{1,60}$/.test(value) ? value : JSON.stringify(value)}`,
    )
    .join(' ');
}
