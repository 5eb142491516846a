/** `everlap doctor`: what is found, what is missing, how to get it. The checks themselves are in src/dev/doctor.ts. */
import type { Command } from 'commander';
import { DEFAULT_TASK_QUEUE } from '../../agents/define-agent.js';
import { diagnose, type Check } from '../../dev/doctor.js';
import { sentenceOf } from '../cli-error.js';
import { CONFIG_NAMES, loadConfigIfAny } from '../config-file.js';
import { targetOf } from '../connect.js';
import { EXIT } from '../exit-codes.js';
import { command, type CommonFlags } from '../options.js';
import { printable, printJson, printLine, styled } from '../output.js';

interface Flags extends CommonFlags {
  readonly json?: true;
}

export function doctorCommand(finish: (code: number) => void): Command {
  return command('doctor', 'Tell what is found, what is missing, and how to get it')
    .option('--json', 'one check a line, as JSON')
    .action(async (flags: Flags) => {
      const { address, namespace, how } = targetOf(flags);
      const { check, taskQueue } = await checkConfig(flags);
      const connection = { ...how };
      const checks = [check, ...(await diagnose({ address, namespace, taskQueue, connection }))];
      for (const each of checks) {
        if (flags.json) printJson(each);
        else show(each);
      }
      const failed = checks.filter(({ ok, optional, notLookedAt }) => !ok && !optional && !notLookedAt).length;
      if (!flags.json) printLine(`\n${summary(failed)}`);
      finish(failed === 0 ? EXIT.ok : EXIT.failed);
    });
}

function summary(failed: number): string {
  return failed === 0 ? 'All that is needed is there.' : `${failed} of these ${failed === 1 ? 'needs' : 'need'} you.`;
}

async function checkConfig(flags: Flags): Promise<{ check: Check; taskQueue: string }> {
  const name = 'Config';
  const taskQueue = flags.taskQueue ?? DEFAULT_TASK_QUEUE;
  try {
    const loaded = await loadConfigIfAny(flags.config);
    if (loaded === undefined) {
      const detail = `no ${CONFIG_NAMES[0]} in this folder; workers need one`;
      return {
        check: { name, ok: false, optional: true, detail, fix: 'Write one, or name it: --config FILE.' },
        taskQueue,
      };
    }
    const agents = loaded.config.agents.map((agent) => agent.name).join(', ');
    const check = { name, ok: true, detail: `${loaded.file}, agents: ${agents}` };
    return { check, taskQueue: flags.taskQueue ?? loaded.config.taskQueue };
  } catch (error) {
    return { check: { name, ok: false, detail: sentenceOf(error), fix: 'Correct the file, or --config.' }, taskQueue };
  }
}

function show({ name, ok, optional, detail, fix }: Check): void {
  const mark = ok ? styled('green', '✓') : optional ? styled('yellow', '–') : styled('red', '✗');
  printLine(`${mark} ${styled('bold', name)}: ${printable(detail)}`);
  if (fix !== undefined) printLine(`    ${fix}`);
}
