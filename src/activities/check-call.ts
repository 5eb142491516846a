/**
 * The activity `checkCall`: are the arguments of a call right, and does a person have to approve it? Asks the tool, and runs
 * nothing.
 */
import { ApplicationFailure } from '@temporalio/common';
import { z } from 'zod';
import { TOOL_FAILURE, toolActivity, type ToolOutput } from '../agents/wire.js';
import { notRegistered } from './default-activity.js';

const INPUT = z.looseObject({ tool: z.string() });

/** @param ask asks the tool of this activity type; undefined where this worker has none. */
export async function checkCall(
  ask: (activityType: string, input: object) => Promise<ToolOutput> | undefined,
  raw: unknown,
): Promise<ToolOutput> {
  const input = INPUT.safeParse(raw);
  if (!input.success) {
    const message = `checkCall needs { tool, args, call }: ${z.prettifyError(input.error)}`;
    throw ApplicationFailure.nonRetryable(message, TOOL_FAILURE.error);
  }
  const { tool, ...call } = input.data;
  const type = toolActivity(tool);
  const answer = ask(type, { ...call, gate: true });
  if (answer === undefined) throw notRegistered(type, true);
  return answer;
}
