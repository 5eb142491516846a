/** Whether a run goes on, is paused, waits or idles, from whatever says so first: search attributes, or the answer of an update. Pure. */
import { isJsonObject } from '../conversation/json.js';

const STATUSES = ['running', 'paused', 'waiting', 'idle'] as const;
type Status = (typeof STATUSES)[number];
export type Change = 'resumed' | Exclude<Status, 'running'>;

export class Standing {
  private status: Status = 'running';

  /** Updates of pause and resume answer when the run stands, or goes on: with its status. */
  answered(name: string | undefined, answer: unknown): Change | undefined {
    return (name === 'pause' || name === 'resume') && isJsonObject(answer) ? this.is(answer['status']) : undefined;
  }

  /** undefined where it is so already, or it is the status of an ended run: `ended` tells that. */
  is(status: unknown): Change | undefined {
    const now = STATUSES.find((one) => one === status);
    if (now === undefined || now === this.status) return undefined;
    this.status = now;
    return now === 'running' ? 'resumed' : now;
  }
}
