/** Loading `everlap.config.ts`: what works, and the sentence for each thing that can be wrong with one. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/cli/config-file.js';
import { configText } from './support.js';

const run = promisify(execFile);
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'everlap-config-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function file(name: string, content: string): Promise<string> {
  const path = join(folder, name);
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, content);
  return path;
}

describe('a config that works', () => {
  it.each(['a.ts', 'a.mts', 'a.js', 'a.mjs'])('%s, where everlap is not installed', async (name) => {
    const { config, sources } = await loadConfig(await file(name, configText('queue')));
    expect(config.taskQueue).toBe('queue');
    expect(config.agents.map((agent) => agent.name)).toEqual(['tester']);
    expect(sources).toContain(join(folder, name));
  });

  it('imports other sources, which are known then', async () => {
    await file('lib/queue.ts', 'export const queue: string = "from-lib";');
    const text = `import { queue } from './lib/queue.js';\n${configText('x').replace("'x'", 'queue')}`;
    const { config, sources } = await loadConfig(await file('with-lib.ts', text));
    expect(config.taskQueue).toBe('from-lib');
    expect(sources).toContain(join(folder, 'lib', 'queue.ts'));
  });

  it('shares its classes with the worker, which tells a tool error from others by them', async () => {
    const path = await file(
      'classes.ts',
      `import { ToolError } from 'everlap';\nglobalThis.seen = ToolError;\n${configText('x')}`,
    );
    const script = `
      import { ToolError } from 'everlap';
      import { loadConfig } from '${new URL('../../dist/cli/config-file.js', import.meta.url).href}';
      await loadConfig(${JSON.stringify(path)});
      console.log(globalThis.seen === ToolError);`;
    const repository = fileURLToPath(new URL('../../', import.meta.url));
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], { cwd: repository });
    expect(stdout).toBe('true\n');
  });

  it('may leave defineConfig out', async () => {
    const text = configText('x').replace('defineConfig(', '(').replace(", taskQueue: 'x'", '');
    expect((await loadConfig(await file('plain.ts', text))).config.taskQueue).toBe('everlap');
  });

  it('the example to copy', async () => {
    const example = fileURLToPath(new URL('../../examples/first-agent/everlap.config.ts', import.meta.url));
    const { config } = await loadConfig(example);
    const [agent] = config.agents;
    expect(agent?.name).toBe('helper');
    expect(agent?.tools.map((tool) => tool.name)).toContain('current_time');
  });
});

const DEFINE = "import { defineAgent, defineConfig, defineTool } from 'everlap';\n";

describe('a config that does not', () => {
  it.each<[name: string, text: string, sentence: RegExp]>([
    ['syntax', 'export default {\n  agents: [}\n', /cannot be loaded: Unexpected token.*\(line 2:\d+\)/],
    ['no-default', `${DEFINE}export const x = 1;`, /it has no default export; it must end with `export default/],
    ['empty', '', /it has no default export/],
    [
      'agent',
      `${DEFINE}export default defineAgent({ name: 'a', instructions: '', model: 'm' });`,
      /is an agent; wrap it/,
    ],
    [
      'typo',
      `${DEFINE}export default { agents: [defineAgent({ name: 'a', instructions: '', model: 'm' })], prise: {} };`,
      /The config has no field "?prise"?/,
    ],
    ['no-agents', `${DEFINE}export default defineConfig({});`, /cannot be loaded: The config needs agents/],
    ['no-list', `export default { agents: 'a' };`, /its agents must be a list of what defineAgent\(\) returns/],
    ['odd-agent', `export default { agents: [{ name: 'a' }] };`, /its agents must be a list/],
    [
      'agent-name',
      `${DEFINE}export default defineConfig({ agents: [defineAgent({ name: 'a b', instructions: '', model: 'm' })] });`,
      /cannot be loaded: Agent "a b": a name must be/,
    ],
    [
      'limit',
      `${DEFINE}const a = defineAgent({ name: 'a', instructions: '', model: 'm', limits: { turns: 0 } });`,
      /cannot be loaded: Agent a: limits\.turns is 0/,
    ],
    [
      'throws',
      `const x: any = undefined;\n\nx.y.z;`,
      /Cannot read properties of undefined \(reading 'y'\) \(line 3:\d+\)/,
    ],
    ['throws-text', `throw 'just a text';`, /cannot be loaded: just a text/],
    [
      'module',
      `import 'no-such-package';`,
      /it imports no-such-package, which is not there; install it \(npm install no-such-package\)/,
    ],
    ['source', `import './nowhere.js';`, /it imports \.\/nowhere\.js, which is not there; correct the import/],
    [
      'export',
      `import { defineAgnet } from 'everlap';\nexport default defineAgnet({});`,
      /defineAgnet.*is not a function \(line 2:\d+\)/,
    ],
  ])('%s', async (name, text, sentence) => {
    const path = await file(`${name}.ts`, text);
    const error = await loadConfig(path).then(
      () => new Error('It was loaded.'),
      (thrown: unknown) => (thrown instanceof Error ? thrown : new Error(String(thrown))),
    );
    expect(error.name).toBe('CliError');
    expect(error.message).toMatch(sentence);
    expect(error.message).toContain(path);
    expect(error.message).not.toContain('\n');
  });
});
