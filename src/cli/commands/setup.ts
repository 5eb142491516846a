/** `everlap setup`: registers the search attributes, by which runs are filtered in the UI and in `everlap list`. */
import type { Command } from 'commander';
import { registerSearchAttributes } from '../../dev/search-attributes.js';
import { withSession } from '../connect.js';
import { command, type CommonFlags } from '../options.js';
import { printJson, printLine } from '../output.js';

export function setupCommand(): Command {
  return command('setup', 'Register Everlap’s search attributes in the namespace')
    .option('--json', 'one JSON object')
    .action((flags: CommonFlags & { readonly json?: true }) =>
      withSession(flags, async ({ connection, target: { namespace } }) => {
        const added = await registerSearchAttributes(connection, namespace);
        if (flags.json) return printJson({ namespace, added });
        printLine(
          added.length === 0
            ? `The namespace ${namespace} has all of Everlap's search attributes already.`
            : `Added to the namespace ${namespace}: ${added.join(', ')}.`,
        );
      }),
    );
}
