/** What a run is doing, in a few words, for the status line. Pure. */
import type { LiveEvent } from '../watch/agent-event.js';
import { count } from './figures.js';

export const IDLE = 'waits for the next message';

/** undefined where an event does not change it. */
export function doingAfter(event: LiveEvent): string | undefined {
  switch (event.type) {
    case 'turn_started':
      return `${event.model} is asked`;
    case 'thinking':
      return `thinking, ${count(event.characters, 'character')}`;
    case 'model_answered':
      return event.toolCalls.length === 0 ? 'answered' : 'tools are called';
    case 'tool_started':
      return `${event.name} runs`;
    case 'compaction_started':
      return 'the conversation is compacted';
    case 'verify_started':
      return 'the work is verified';
    case 'paused':
      return 'paused';
    case 'waiting':
      return 'waits for a decision';
    case 'idle':
      return IDLE;
    case 'resumed':
      return 'goes on';
    default:
      return undefined;
  }
}
