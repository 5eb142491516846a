/** The soak script, shorter than by hand: a run over several executions, each of which replays. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const soak = fileURLToPath(new URL('../../bench/soak.ts', import.meta.url));

test(
  '600 turns: two executions or more, all of them replay, history a turn within the bound',
  { timeout: 600_000 },
  async () => {
    const args = ['--import', 'jiti/register', soak, '--turns', '600', '--window', '20000'];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    const figure = (what: string): string => new RegExp(`\\| ${what}[^|]* \\| ([^|]+) \\|`).exec(stdout)?.[1] ?? stdout;
    expect(figure('ended')).toBe('completed, answered');
    expect(figure('turns')).toBe('600');
    const [replayed, executions] = figure('executions that replay').split(' of ');
    expect(replayed).toBe(executions);
    expect(Number(executions)).toBeGreaterThan(1);
    expect(Number(figure('history bytes a turn').replaceAll(',', ''))).toBeLessThan(9000);
  },
);
