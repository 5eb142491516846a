/**
 * What a run may do without asking: `ask` asks where a tool says so; `auto` asks only for tools marked `always`; `plan`
 * runs only tools without effects.
 */
export const MODES = ['ask', 'auto', 'plan'] as const;
export type Mode = (typeof MODES)[number];

/** From the strictest on. */
const STRICTEST: readonly Mode[] = ['plan', 'ask', 'auto'];

/** The mode that lets less run without asking. */
export function stricter(one: Mode, other: Mode): Mode {
  return STRICTEST.indexOf(one) < STRICTEST.indexOf(other) ? one : other;
}
