/**
 * Whether a process group has grown beyond a bound. Linux only, by /proc: elsewhere nobody counts. Synchronous: while a fork
 * bomb goes off, each hop to another thread may take seconds.
 */
import { readdirSync, readFileSync } from 'node:fs';

/** How to find out whether the group has more than `most` processes. To be made when it has just begun. */
export function groupWatch(group: number, most: number): () => boolean {
  if (process.platform !== 'linux') return () => false;
  const before = pidsNow().length;
  return () => {
    const pids = pidsNow();
    // The machine has not got that many more: nothing has to be read.
    if (pids.length < before + most / 2) return false;
    let size = 0;
    // The newest first: a bomb's are.
    for (const pid of pids.sort((a, b) => b - a)) {
      if (groupOf(pid) === String(group) && (size += 1) > most) return true;
    }
    return false;
  };
}

/** None where /proc is not to be had. */
function pidsNow(): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

function groupOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name, in brackets, may have anything in it; the group is the third field after it.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2];
  } catch {
    // It has ended.
    return undefined;
  }
}
