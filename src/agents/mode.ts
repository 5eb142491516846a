/**
 * What a run may do without asking: `ask` asks where a tool says so; `auto` asks only for tools marked `always`; `plan`
 * runs only tools without effects.
 */
export const MODES = ['ask', 'auto', 'plan'] as const;
export type Mode = (typeof MODES)[number];
