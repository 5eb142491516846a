/** What a signal or an update says, as an event. Read with the run's own parsers, so that both think the same of it. Pure. */
import { isRefused, parseForceFinish, parseSetLimits, parseText, type Refused } from '../workflows/arguments.js';
import { parseAnswer, parseApprove, parseDeny, parseMode } from '../workflows/decision-arguments.js';
import type { EventBody } from './agent-event.js';
import type { HistoryContent } from './history-event.js';

const DECISIONS = { approve: parseApprove, deny: parseDeny, answer: parseAnswer };

type Message = Extract<HistoryContent, { kind: 'message' }>;

/** undefined for messages that are not a run's: a team's own workflow may have more of them. */
export function messageEvent({ name, argument, via }: Message): EventBody | undefined {
  switch (name) {
    case 'steer':
    case 'followUp': {
      const type = name === 'steer' ? 'steering_received' : 'follow_up_received';
      return read(name, parseText(argument), ({ text, id }) => ({
        type,
        text,
        ...(id !== undefined && { textId: id }),
        via,
      }));
    }
    case 'forceFinish':
      return read(name, parseForceFinish(argument), (finish) => ({ type: 'force_finish_requested', ...finish, via }));
    case 'setLimits':
      return read(name, parseSetLimits(argument), (limits) => ({ type: 'limits_changed', limits, via }));
    case 'pause':
      return { type: 'pause_requested', via };
    case 'resume':
      return { type: 'resume_requested', via };
    case 'approve':
    case 'deny':
    case 'answer':
      return read(name, DECISIONS[name](argument), ({ callId }) => ({
        type: 'decision_received',
        decision: name,
        callId,
        via,
      }));
    case 'setMode':
      return read(name, parseMode(argument), ({ mode }) => ({ type: 'mode_changed', mode, via }));
    default:
      return undefined;
  }
}

function read<Parsed extends object>(
  name: string,
  parsed: Parsed | Refused,
  toEvent: (parsed: Parsed) => EventBody,
): EventBody {
  return isRefused(parsed) ? { type: 'message_ignored', name, problem: parsed.refused } : toEvent(parsed);
}
