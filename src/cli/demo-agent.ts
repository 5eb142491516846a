/** The demo's agent: reads a repository, writes a report into the run's own workspace folder. */
import { defineAgent, type AgentDefinition } from '../agents/define-agent.js';
import { listFiles, readFile, searchFiles, writeFile } from '../tools/index.js';

/** @param folder that it explores and cannot leave. @param model its name, as the provider knows it. */
export function explorer(folder: string, model: string): AgentDefinition {
  return defineAgent({
    name: 'explorer',
    instructions:
      'You explore a source repository and write a report on it. list_files, read_file and search_files see the repository; ' +
      'write_file writes into a folder of your own. Look at the README, the package file, and the sources that matter most; ' +
      'claim nothing that you have not read. The report, report.md, has at most 80 lines of Markdown: what the project is ' +
      'for, how its folders are laid out, how it works, and three things that a newcomer should read first, with their paths. ' +
      'When it is written, answer with two sentences on what you found.',
    model,
    tools: [listFiles({ folder }), readFile({ folder }), searchFiles({ folder }), writeFile()],
    limits: { turns: 40, tokens: 600_000, duration: '20 minutes' },
  });
}
