// Where Everlap keeps what it downloaded. Only computes a path; creates nothing.
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** `EVERLAP_CACHE`, else `everlap` in the platform's own cache folder (XDG on Linux). */
export function cacheFolder(
  env: NodeJS.ProcessEnv = process.env,
  platform: NodeJS.Platform = process.platform,
  home: string = homedir(),
): string {
  if (env.EVERLAP_CACHE) return resolve(env.EVERLAP_CACHE);
  if (env.XDG_CACHE_HOME) return join(env.XDG_CACHE_HOME, 'everlap');
  if (platform === 'darwin') return join(home, 'Library', 'Caches', 'everlap');
  if (platform === 'win32') return join(env.LOCALAPPDATA || join(home, 'AppData', 'Local'), 'everlap', 'cache');
  return join(home, '.cache', 'everlap');
}
