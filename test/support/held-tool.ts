/** A tool that a test holds and lets go: no test has to wait by time for a tool to be in the middle of its work. */
import { defineTool, type ToolDefinition, type ZodToolOptions } from 'everlap';
import { gate, type Gate } from 'everlap/testing';
import { z } from 'zod';

export interface HeldTool {
  readonly tool: ToolDefinition;
  /** Where its calls stand. */
  readonly gate: Gate;
  /** Arguments of the calls that were run, in order. */
  readonly ran: string[];
  /** Arguments of the calls whose `ctx.signal` aborted. */
  readonly aborted: string[];
}

const INPUT = z.object({ name: z.string() });

/** Each call waits at the gate, or until its signal aborts; a call with a name of `free` passes at once. */
export function heldTool(
  options: Partial<ZodToolOptions<typeof INPUT>> & { readonly free?: readonly string[] } = {},
): HeldTool {
  const { free = [], ...fields } = options;
  const held = gate();
  const ran: string[] = [];
  const aborted: string[] = [];
  const tool = defineTool({
    name: 'work',
    description: 'Works on something.',
    input: INPUT,
    effects: 'none',
    execute: async ({ name }, { signal }) => {
      ran.push(name);
      if (free.includes(name)) return `${name} is done`;
      const abort = new Promise<never>((_, reject) => {
        const onAbort = (): void => {
          aborted.push(name);
          reject(new Error('The tool was told to stop.'));
        };
        if (signal.aborted) onAbort();
        else signal.addEventListener('abort', onAbort, { once: true });
      });
      abort.catch(() => undefined);
      await Promise.race([held.wait(), abort]);
      return `${name} is done`;
    },
    ...fields,
  });
  return { tool, gate: held, ran, aborted };
}
