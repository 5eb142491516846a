/** Calls that wait for a person, as people read them: what has to be typed comes first, the arguments last. Pure. */
import type { PendingView, RunView } from '../client.js';
import { isJsonObject, type JsonObject } from '../conversation/json.js';
import { oneLine } from './output.js';

/** One call, and the run at which it was seen. */
export type WaitingRow = PendingView & { readonly id: string; readonly agent: string };

/**
 * What waits in these runs, each call once: one of a run below stands at that run itself where it is among them.
 * @param views by the run's id.
 */
export function waitingRows(views: ReadonlyMap<string, RunView>): WaitingRow[] {
  const seen = new Set<string>();
  return [...views].flatMap(([id, { agent, pending }]) =>
    pending
      .filter(({ run, callId, since }) => {
        const key = `${run ?? id} ${callId} ${since}`;
        if ((run !== undefined && views.has(run)) || seen.has(key)) return false;
        seen.add(key);
        return true;
      })
      .map((call) => ({ id, agent, ...call })),
  );
}

/** In one line. The call's id, and `--run` where its run is another one, can be copied to the command that decides. */
export function callText({ callId, run, kind, tool, args }: PendingView, maxArgs = Infinity): string {
  const below = run === undefined ? '' : `  --run ${oneLine(run, Infinity)}`;
  return `${oneLine(callId, Infinity)}${below}  ${kind}: ${oneLine(`${tool} ${args}${isWhole(args) ? '' : '…'}`, maxArgs)}`;
}

/** Arguments that were cut are no JSON any more: they are one object, and its end is missing. */
export function parsedArgs(args: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(args);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** How many calls wait that `state` does not show. */
export function notShown({ pending, pendingCount }: RunView): number {
  return Math.max(0, pendingCount - pending.length);
}

function isWhole(args: string): boolean {
  return parsedArgs(args) !== undefined;
}
