/** Whether a process group has grown beyond a bound. Linux only, by /proc: elsewhere nobody counts. */
import { readdir, readFile } from 'node:fs/promises';

export async function hasMoreThan(most: number, group: number): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  // All processes together are not too many: nothing has to be read.
  if (pids.length <= most) return false;
  let size = 0;
  for (const pid of pids) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    // The name, in brackets, may have anything in it; the group is the third field after it.
    const [, , groupOfIt] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (groupOfIt === String(group) && (size += 1) > most) return true;
  }
  return false;
}
