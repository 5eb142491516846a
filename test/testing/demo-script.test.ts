/** The demo's script over real HTTP, in a bare loop, with tools that write their lists in different ways. */
import OpenAI from 'openai';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { foldersIn, headingIn, hitsIn, packageIn } from '../../src/testing/demo-facts.js';
import { DEMO_TASK, demoScript, startScriptedModel, type ScriptedModel } from '../../src/testing/index.js';

type Message = OpenAI.ChatCompletionMessageParam;
type Tools = Record<string, (args: Record<string, string | undefined>) => string>;

const files: Record<string, string> = {
  'README.md': '# Sample\n\nWords.\n',
  'package.json': '{\n  "name": "sample",\n  "dependencies": {\n    "a": "1.0.0",\n    "b": "2"\n  }\n}\n',
  'src/flow.ts': '/** The flow. */\nconst { a } = proxyActivities();\n',
  'test/flow.test.ts': 'proxyActivities();\nproxyActivities();\n',
};
const numbered = (text: string): string =>
  text
    .split('\n')
    .map((line, at) => `${at + 1}\t${line}`)
    .join('\n');

function toolsOf(written: Map<string, string>, number: boolean): Tools {
  return {
    list_files: () => (number ? 'README.md\npackage.json\nsrc/\ntest/' : Object.keys(files).join('\n')),
    read_file: ({ path }) => {
      const text = files[path ?? ''];
      return text === undefined ? `There is no file "${path}".` : number ? numbered(text) : text;
    },
    search_files: ({ pattern }) =>
      Object.entries(files)
        .flatMap(([path, text]) => text.split('\n').map((line, at) => ({ path, line, at })))
        .filter(({ line }) => line.includes(pattern ?? ''))
        .map(({ path, line, at }) => `${path}:${at + 1}: ${line}`)
        .join('\n') || 'Nothing was found.',
    write_file: ({ path, content }) => {
      written.set(path ?? '', content ?? '');
      return 'Written.';
    },
  };
}

let model: ScriptedModel | null = null;
afterEach(async () => {
  await model?.close();
  model = null;
});

async function ask(messages: Message[], tools: Tools): Promise<OpenAI.ChatCompletionMessage> {
  model ??= await startScriptedModel({ script: demoScript({ chunkDelayMs: 0 }) });
  const client = new OpenAI({ apiKey: 'scripted', baseURL: model.baseUrl, maxRetries: 0 });
  const schemas = Object.keys(tools).map((name) => ({ type: 'function' as const, function: { name, parameters: {} } }));
  const stream = client.chat.completions.stream({ model: 'scripted', messages, tools: schemas });
  return await stream.finalMessage();
}

/** A bare agent loop. `between` may add messages before each call. */
async function run(tools: Tools, between: (turn: number) => Message[] = () => []): Promise<Message[]> {
  const messages: Message[] = [
    { role: 'system', content: 'You explore.' },
    { role: 'user', content: DEMO_TASK },
  ];
  for (let turn = 0; turn < 20; turn++) {
    messages.push(...between(turn));
    const said = await ask(messages, tools);
    messages.push({
      role: 'assistant',
      content: said.content,
      ...(said.tool_calls && { tool_calls: said.tool_calls }),
    });
    if (!said.tool_calls) return messages;
    for (const call of said.tool_calls) {
      if (call.type !== 'function') continue;
      const args = z.record(z.string(), z.string()).parse(JSON.parse(call.function.arguments));
      messages.push({
        role: 'tool',
        tool_call_id: call.id,
        content: tools[call.function.name]?.(args) ?? 'No such tool.',
      });
    }
  }
  throw new Error('The demo did not end within 20 turns.');
}

const callsIn = (messages: Message[]): string[] =>
  messages.flatMap((message) =>
    message.role === 'assistant'
      ? (message.tool_calls ?? []).map((call) => ('function' in call ? call.function.name : ''))
      : [],
  );

describe('the demo', () => {
  it.each([true, false])('explores and writes a report of what the tools found (numbered: %s)', async (number) => {
    const written = new Map<string, string>();
    const messages = await run(toolsOf(written, number));
    expect(callsIn(messages)).toEqual([
      'list_files',
      'read_file',
      'read_file',
      'search_files',
      'read_file',
      'write_file',
    ]);
    const report = written.get('report.md') ?? '';
    expect(report).toContain('Package: sample, 2 dependencies');
    expect(report).toContain('Title of README.md: Sample');
    expect(report).toContain('Folders (2): src, test');
    expect(report).toContain('proxyActivities: 3 lines in 2 files');
    expect(report).toContain('src/flow.ts: line 2');
    expect(report).toContain('scripted model');
    expect(messages.at(-1)?.content).toMatch(/sample with 6 tool calls: 2 folders, 3 lines.*report\.md/);
  });

  it('gives the same answer to the same request again', async () => {
    const tools = toolsOf(new Map(), false);
    const messages = await run(tools);
    for (const [at, message] of messages.entries()) {
      if (message.role !== 'assistant') continue;
      const again = await ask(messages.slice(0, at), tools);
      expect({ content: again.content, calls: again.tool_calls }).toEqual({
        content: message.content,
        calls: message.tool_calls,
      });
    }
  });

  it('heeds what is said to it, while it works and after', async () => {
    const written = new Map<string, string>();
    const tools = toolsOf(written, false);
    const steering = { role: 'user' as const, content: '[STEERING] Look at the tests.\n[STEERING] And hurry 🏃.' };
    const messages = await run(tools, (turn) => (turn === 2 ? [steering] : []));
    expect(written.get('report.md')).toContain('- Look at the tests.\n- And hurry 🏃.');
    const noted = messages[messages.findIndex((message) => message.content === steering.content) + 1];
    expect(noted?.content).toMatch(/^Noted: "Look at the tests\.". Noted: "And hurry 🏃\."\. The README/);
    const more = await ask([...messages, { role: 'user', content: 'Thanks.' }], tools);
    expect(more).toMatchObject({ content: expect.stringMatching(/^Noted: "Thanks\."\. I am a scripted model/) });
    expect(more.tool_calls).toBeUndefined();
  });

  it('ends where tools fail, find nothing, or are not there', async () => {
    const written = new Map<string, string>();
    const failing: Tools = {
      ...toolsOf(written, false),
      read_file: () => 'Error: no.',
      search_files: () => 'Nothing was found.',
    };
    expect(callsIn(await run(failing))).toEqual(['list_files', 'read_file', 'read_file', 'search_files', 'write_file']);
    expect(written.get('report.md')).toContain('Package: no name found, unknown dependencies');
    const end = await run({ list_files: () => 'src/', read_file: () => '# A' });
    expect(end.at(-1)?.content).toMatch(/No report was written/);
  });
});

describe('facts', () => {
  it('folders from lists of many forms', () => {
    expect(foldersIn('src/\n./docs/a.md\n- test/b/c.ts\nREADME.md\n"lib/",\n../up/\n.github/x')).toEqual([
      'src',
      'docs',
      'test',
      'lib',
      '.github',
    ]);
    expect(foldersIn('')).toEqual([]);
  });

  it('headings, with numbers before the lines or not', () => {
    expect(headingIn('<img>\n\n# Title \nx')).toBe('Title');
    expect(headingIn('     1→# Title')).toBe('Title');
    expect(headingIn('1: ## Second')).toBe('Second');
    expect(headingIn('#no heading\nwords')).toBeNull();
  });

  it('packages', () => {
    expect(packageIn('{"name":"x","dependencies":{}}')).toEqual({ name: 'x', dependencies: 0 });
    expect(packageIn('nothing')).toEqual({ name: null, dependencies: null });
  });

  it('hits', () => {
    expect(hitsIn('src/a.ts:3:code: 1\nb c.ts:12\n./d.ts:4- before\n3 hits\nNothing: found')).toEqual([
      { path: 'src/a.ts', line: 3 },
      { path: 'b c.ts', line: 12 },
      { path: 'd.ts', line: 4 },
    ]);
    expect(hitsIn('src/a.ts\n  3:code: 1\n  12:5: x\nb c.ts\n  7:')).toEqual([
      { path: 'src/a.ts', line: 3 },
      { path: 'src/a.ts', line: 12 },
      { path: 'b c.ts', line: 7 },
    ]);
  });
});
