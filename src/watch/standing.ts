/** Whether a run goes on, is paused or waits, from whatever says so first: search attributes, or the answer of an update. Pure. */
import { isJsonObject } from '../conversation/json.js';

type Status = 'running' | 'paused' | 'waiting';
export type Change = 'resumed' | 'paused' | 'waiting';

export class Standing {
  private status: Status = 'running';
  /** Names of accepted updates, by the event that accepted them. */
  private readonly updates = new Map<number, string>();

  updateAccepted(eventId: number, name: string): void {
    this.updates.set(eventId, name);
  }

  /** Updates of pause and resume answer when the run stands, or goes on: with its status. */
  updateCompleted(acceptedId: number, answer: unknown): Change | undefined {
    const name = this.updates.get(acceptedId);
    this.updates.delete(acceptedId);
    return (name === 'pause' || name === 'resume') && isJsonObject(answer) ? this.is(answer['status']) : undefined;
  }

  /** undefined where it is so already, or it is the status of an ended run: `ended` tells that. */
  is(status: unknown): Change | undefined {
    if (status === this.status || (status !== 'paused' && status !== 'waiting' && status !== 'running'))
      return undefined;
    this.status = status;
    return status === 'running' ? 'resumed' : status;
  }
}
