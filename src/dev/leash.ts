// Ends a process when this one ends, however this one ends. Knows only a process id.
import { spawn } from 'node:child_process';
import { Socket } from 'node:net';

/**
 * Sends SIGTERM to `pid` once this process is gone: after a normal end, an uncaught error, or a signal that nobody
 * could handle. A server left behind would hold its port and its database file.
 * @returns how to let go. Let go as soon as `pid` has ended: its number may be given to another process.
 */
export function leash(pid: number): () => void {
  if (process.platform === 'win32') {
    const onExit = (): void => void process.kill(pid);
    process.once('exit', onExit);
    return () => void process.off('exit', onExit);
  }
  // The shell waits for a line. The end of this process closes the pipe without one, which is the sign; `free` lets go.
  const holder = spawn('/bin/sh', ['-c', 'read -r word; [ "$word" = free ] || kill "$1" 2>/dev/null', 'sh', `${pid}`], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  holder.on('error', () => {}); // no shell: the process is not held, and ends by `stop` all the same
  holder.stdin.on('error', () => {});
  holder.unref();
  if (holder.stdin instanceof Socket) holder.stdin.unref();
  return () => holder.stdin.end('free\n');
}
