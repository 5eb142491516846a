/** What to do with the calls of one answer: which run, which are refused and why. Pure. */
import type { Mode } from '../agents/mode.js';
import type { ToolSpec } from '../agents/spec.js';
import { depthOf, isJsonObject, MAX_DEPTH, type JsonObject } from '../conversation/json.js';
import type { ToolCall } from '../conversation/message.js';
import { jsonBytes } from '../conversation/json-bytes.js';
import { cutText } from '../conversation/cut-text.js';
import type { Concurrency } from './in-turn.js';

export type PlannedCall =
  | {
      readonly kind: 'run';
      readonly index: number;
      readonly call: ToolCall;
      readonly tool: ToolSpec;
      readonly args: JsonObject;
      /** How many calls its answer has. */
      readonly of: number;
      /** A person has said that it may run, whatever the mode. */
      readonly byPerson?: true;
    }
  | { readonly kind: 'refuse'; readonly index: number; readonly call: ToolCall; readonly text: string };

export type RunnableCall = Extract<PlannedCall, { kind: 'run' }>;

/**
 * @param cut whether the answer was cut off by the output limit: its last call may then be half a call, even where it
 *   happens to parse, and is never run.
 */
export function planCalls(
  tools: readonly ToolSpec[],
  calls: readonly ToolCall[],
  cut: boolean,
  mode: Mode = 'ask',
): PlannedCall[] {
  const room = roomForArguments(calls);
  return calls.map((call, index): PlannedCall => {
    const refuse = (text: string): PlannedCall => ({ kind: 'refuse', index, call, text });
    if (cut && index === calls.length - 1) {
      return refuse(
        'Error: this call was cut off by the output length limit and was not run. Make it again, with shorter arguments.',
      );
    }
    const tool = tools.find(({ name }) => name === call.name);
    if (tool === undefined) return refuse(unknownTool(tools, call.name));
    if (forbids(mode, tool)) return refuse(PLAN_MODE);
    const args = parseArguments(call.arguments);
    if (typeof args === 'string') return refuse(`Error: ${args} The tool was not run.`);
    if (!room.has(args)) return refuse('Error: the arguments are too long. The tool was not run.');
    return { kind: 'run', index, call, tool, args, of: calls.length };
  });
}

/** Bytes of the arguments of one answer: they are scheduled together, in one message of at most 4 MB. */
const MAX_ARGUMENT_BYTES = 1_000_000;
/** An answer is bounded, but written anew a number may become five times as long: 1e20. */
const MOST_GROWTH = 6;

function roomForArguments(calls: readonly ToolCall[]): { has(args: JsonObject): boolean } {
  const written = calls.reduce((sum, call) => sum + call.arguments.length, 0);
  if (written * MOST_GROWTH <= MAX_ARGUMENT_BYTES) return { has: () => true };
  let left = MAX_ARGUMENT_BYTES;
  return {
    has: (args) => {
      const bytes = jsonBytes(args);
      if (bytes > left) return false;
      left -= bytes;
      return true;
    },
  };
}

/** In `plan` mode tools with effects do not run. */
export function forbids(mode: Mode, { effects }: Pick<ToolSpec, 'effects'>): boolean {
  return mode === 'plan' && effects !== 'none';
}

export const PLAN_MODE =
  'Not run: this run is in plan mode, where only tools without effects may run. Say what you would do instead.';

function unknownTool(tools: readonly ToolSpec[], name: string): string {
  const names = tools.map((tool) => tool.name).join(', ');
  const there = names === '' ? 'There are no tools.' : `The tools are: ${names}.`;
  return `Error: there is no tool named "${cutText(name, 100)}". ${there}`;
}

/** The arguments, or a sentence on why they are none. '' is a call without arguments. */
function parseArguments(text: string): JsonObject | string {
  if (text.trim() === '') return {};
  if (depthOf(text) > MAX_DEPTH) return `the arguments are nested more than ${MAX_DEPTH} levels deep.`;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The engine's own words are left out: they change with its version, and a replay must give the same text.
    return 'the arguments are not valid JSON.';
  }
  return isJsonObject(value) ? value : 'the arguments must be one JSON object.';
}

/** A refused call holds up nobody. */
export function concurrencyOf(planned: PlannedCall): Concurrency {
  return planned.kind === 'refuse' ? 'parallel' : planned.tool.concurrency;
}
