/** The bare workflow of memory.ts: keeps its input, answers `state`, waits. */
import { condition, defineQuery, setHandler } from '@temporalio/workflow';

export async function parked(input: string): Promise<number> {
  setHandler(defineQuery<{ status: string; size: number }>('state'), () => ({ status: 'waiting', size: input.length }));
  await condition(() => false);
  return input.length;
}
