/** The activity `verifyWorkspace`: runs a lap's check in the run's workspace folder. */
import { Context } from '@temporalio/activity';
import type { VerifyInput, VerifyOutput } from '../agents/wire.js';
import { runProcess } from '../tools/run-process.js';
import { startHeartbeat } from './heartbeat.js';
import { openWorkspaceOf } from './workspaces.js';

/** Less than the activity's own time, so that the command's end is told, and not guessed from a timeout. */
const TIMEOUT_MS = 9.5 * 60_000;
const MAX_CHARS = 4000;
/** What a command gets of the worker's environment: no keys. */
const ENVIRONMENT = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TMPDIR', 'USER', 'SHELL'] as const;

/** Exit code 124, as `timeout(1)` has it, where the command took too long; 128 where a signal ended it. */
export async function verifyWorkspace(workspaces: string, { command, call }: VerifyInput): Promise<VerifyOutput> {
  const heartbeat = startHeartbeat();
  try {
    const env = Object.fromEntries(
      ENVIRONMENT.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
    );
    const end = await runProcess({
      command,
      cwd: await openWorkspaceOf(workspaces, call.runId),
      env,
      timeoutMs: TIMEOUT_MS,
      maxChars: MAX_CHARS,
      signal: Context.current().cancellationSignal,
    });
    return { exitCode: end.ended === 'time' ? 124 : (end.exitCode ?? 128), output: end.output };
  } finally {
    heartbeat.stop();
  }
}
