/** The built command as a process, and a folder with a config, a scripted model and a worker for it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startScriptedModel, type ScriptedModel, type Script, type StepMaker } from 'everlap/testing';
import { inject } from 'vitest';
import { z } from 'zod';

const built = (file: string): string => fileURLToPath(new URL(`../../dist/cli/${file}`, import.meta.url));

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface SpawnOptions {
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly file?: 'main.js' | 'demo.js';
}

/** One process of the command. */
export class Cli {
  stdout = '';
  stderr = '';
  readonly ended: Promise<Finished>;
  private readonly child: ChildProcess;

  constructor(args: readonly string[], { cwd, env, file = 'main.js' }: SpawnOptions) {
    this.child = spawn(process.execPath, [built(file), ...args], {
      cwd,
      env: { ...cleanEnvironment(), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.ended = once(this.child, 'close').then(() => ({
      code: this.child.exitCode,
      stdout: this.stdout,
      stderr: this.stderr,
    }));
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Resolves when standard output and error together have it; rejects where the process ends before. */
  async waitFor(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.stdout + this.stderr);
      if (match) return match;
      if (this.child.exitCode !== null || this.child.signalCode !== null) {
        throw new Error(`Ended without ${pattern}:\n${this.stdout}\n${this.stderr}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** The reader of standard output goes away. */
  closeStdout(): void {
    this.child.stdout?.destroy();
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  async end(name: NodeJS.Signals = 'SIGTERM'): Promise<Finished> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill(name);
    return this.ended;
  }
}

/** What the developer's own shell has set must not change what is tested. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(TEMPORAL_|OPENAI_|EVERLAP_UI|EVERLAP_MODEL|FORCE_COLOR)/.test(name),
  );
  return { ...Object.fromEntries(kept), TEMPORAL_CONFIG_FILE: join(tmpdir(), 'everlap-no-such-config.toml') };
}

export interface CliRig {
  readonly folder: string;
  readonly address: string;
  readonly taskQueue: string;
  readonly model: ScriptedModel;
  /** Starts the command in the rig's folder, with its server and model in the environment. */
  start(args: readonly string[], env?: NodeJS.ProcessEnv): Cli;
  /** Starts it and waits for its end. */
  run(...args: readonly string[]): Promise<Finished>;
  startWorker(): Promise<Cli>;
  stop(): Promise<void>;
}

export const AGENT = 'tester';

export function configText(taskQueue: string, fields = ''): string {
  return `import { defineAgent, defineConfig } from 'everlap';
import { fileTools } from 'everlap/tools';
const ${AGENT} = defineAgent({ name: '${AGENT}', instructions: 'Do it.', model: { name: 'scripted', attempts: 2 }, tools: fileTools(), ${fields} });
export default defineConfig({ agents: [${AGENT}], taskQueue: '${taskQueue}' });
`;
}

export async function startCliRig(script: Readonly<Record<string, Script>> | StepMaker = {}): Promise<CliRig> {
  const folder = await mkdtemp(join(tmpdir(), 'everlap-cli-'));
  const taskQueue = `cli-${randomUUID()}`;
  const address = inject('temporalAddress');
  const model = await startScriptedModel(typeof script === 'function' ? { script } : { byTask: script });
  await writeFile(join(folder, 'everlap.config.ts'), configText(taskQueue));
  const started: Cli[] = [];
  const rig: CliRig = {
    folder,
    address,
    taskQueue,
    model,
    start(args, env) {
      const cli = new Cli(args, { cwd: folder, env: { TEMPORAL_ADDRESS: address, ...model.env, ...env } });
      started.push(cli);
      return cli;
    },
    run: (...args) => rig.start(args).ended,
    async startWorker() {
      const worker = rig.start(['worker']);
      await worker.waitFor(/Worker polls/);
      return worker;
    },
    async stop() {
      await Promise.all(started.map((cli) => cli.end()));
      await model.close({ verify: false });
      await rm(folder, { recursive: true, force: true });
    },
  };
  return rig;
}

const LINE = z.looseObject({ type: z.string().optional() });

/** Each line of standard output as an object. @throws where a line is none. */
export function jsonLines(stdout: string): z.output<typeof LINE>[] {
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => LINE.parse(JSON.parse(line)));
}

/** One line that names the command: no stack, no escape sequence. */
export function looksLikeOneSentence(stderr: string): boolean {
  return /^everlap: .+[.?)"`]\n$/.test(stderr) && !stderr.includes('\u001b') && !/\bat .*:\d+:\d+/.test(stderr);
}
