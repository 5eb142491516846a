/** `hand_off`: the built-in tool by which a lap leaves a note for the next one. It runs nowhere: the run keeps the note. */
import { z } from 'zod';
import { defineTool, type ToolDefinition } from './define-tool.js';

export const HAND_OFF: ToolDefinition = {
  ...defineTool({
    name: 'hand_off',
    description:
      'Leave a note for the next lap, which starts without any memory of this one. A later note replaces it.',
    input: z.object({ note: z.string().min(1).describe('What is done, what is left, what to look out for.') }),
    effects: 'none',
    execute: () => {
      throw new Error('hand_off is kept by the run, not run by a worker.');
    },
  }),
  execution: 'note',
};
