/** A folder for one test, and what a tool is called with. */
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { ToolContext, ToolDefinition } from '../../src/agents/define-tool.js';

export async function testFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'everlap-tools-')));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

let calls = 0;

export function toolContext(workspace: string, more: Partial<ToolContext> = {}): ToolContext {
  calls += 1;
  const idempotencyKey = more.idempotencyKey ?? `run/1/${calls}/0/abc`;
  return {
    signal: new AbortController().signal,
    heartbeat: () => {},
    call: { runId: 'run', lap: 1, turn: calls, callId: `call_${calls}`, idempotencyKey },
    attempt: 1,
    workspace,
    ...more,
    idempotencyKey,
  };
}

/** Calls a tool as a run does: arguments parsed, then executed. */
export async function callTool(
  tool: ToolDefinition,
  args: unknown,
  workspace: string,
  more?: Partial<ToolContext>,
): Promise<unknown> {
  return tool.execute(tool.input?.parse(args), toolContext(workspace, more));
}
