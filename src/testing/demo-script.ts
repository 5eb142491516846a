/**
 * The script of `npm run demo` without an API key: an agent that explores a repository with `list_files`, `read_file`
 * and `search_files`, and writes `report.md` with `write_file`. Each answer follows from the conversation in the request
 * alone, so a retried or resumed call gets the same answer again. It says that it is scripted.
 */
import { cut } from '../conversation/cut-text.js';
import type { JsonObject } from '../conversation/json.js';
import { foldersIn, headingIn, hitsIn, packageIn, toolResults, type ToolResult } from './demo-facts.js';
import { textOf, type RecordedRequest, type WireMessage } from './request.js';
import type { StepMaker } from './script.js';
import { calls, text, type AnswerStep } from './steps.js';

/** What the demo's agent is asked to do. */
export const DEMO_TASK = 'Explore this repository and write what you find into report.md.';

const PATTERN = 'proxyActivities';
const README = 'README.md';
const REPORT = 'report.md';

type Call = readonly [name: string, args: JsonObject];

/** @param options.chunkDelayMs between two pieces of an answer, so that a terminal shows them come. Default 20. */
export function demoScript({ chunkDelayMs = 20 }: { readonly chunkDelayMs?: number } = {}): StepMaker {
  return (request) => ({ ...answerTo(request), chunkDelayMs, pieceChars: 12 });
}

function answerTo({ messages, body }: RecordedRequest): AnswerStep {
  const results = toolResults(messages);
  const said = messages.filter((message) => message.role === 'assistant');
  const last = said.at(-1);
  const noted = notesAfter(last, messages)
    .map((note) => `Noted: "${note}". `)
    .join('');
  if (last && (last.tool_calls ?? []).length === 0) {
    return text(
      `${noted}I am a scripted model and can do no more than my script. My report stays as it is: ${REPORT}.`,
    );
  }
  const { words, asks } = nextMove(last, results, notesAfter(messages.find(isUser), messages));
  const offered = new Set((body.tools ?? []).map((tool) => tool.function?.name));
  const possible = asks.length > 0 && body.tool_choice !== 'none' && asks.every(([name]) => offered.has(name));
  if (!possible) return text(noted + (asks.length > 0 ? summary(results, false) : words));
  const turn = said.length;
  const list = asks.map(([name, args], at) => ({ name, arguments: args, id: `call_demo_${turn}_${at}` }));
  return calls(list, { text: noted + words });
}

interface Move {
  readonly words: string;
  readonly asks: readonly Call[];
}

/** What comes after the calls of the last answer. */
function nextMove(last: WireMessage | undefined, results: readonly ToolResult[], notes: readonly string[]): Move {
  const name = last?.tool_calls?.[0]?.function?.name;
  switch (name) {
    case undefined:
      return {
        words:
          'I am a scripted model, so I think nothing, but what I read and write is real. First I look at what is there.',
        asks: [['list_files', { path: '.' }]],
      };
    case 'list_files':
      return {
        words: `There are ${foldersOf(results).length} folders. The README and the package file come next, both at once.`,
        asks: [
          ['read_file', { path: README }],
          ['read_file', { path: 'package.json' }],
        ],
      };
    case 'search_files':
      return afterSearch(results, notes);
    case 'write_file':
      return { words: summary(results, true), asks: [] };
    case 'read_file':
      return results.some((result) => result.name === 'search_files') ? writing(results, notes) : searching(results);
    default:
      return writing(results, notes);
  }
}

function searching(results: readonly ToolResult[]): Move {
  const heading = headingIn(textOfFile(results, README));
  const words = heading === null ? 'The README has no heading.' : `The README is titled "${heading}".`;
  return { words: `${words} Now I search for ${PATTERN}.`, asks: [['search_files', { pattern: PATTERN }]] };
}

function afterSearch(results: readonly ToolResult[], notes: readonly string[]): Move {
  const hits = hitsOf(results);
  const first = hits.find(({ path }) => path.startsWith('src/')) ?? hits[0];
  if (!first) return writing(results, notes);
  return {
    words: `${PATTERN} is found in ${hits.length} lines. I read ${first.path}, where line ${first.line} has it.`,
    asks: [['read_file', { path: first.path }]],
  };
}

function writing(results: readonly ToolResult[], notes: readonly string[]): Move {
  return {
    words: `That is enough for a report. I write ${REPORT}.`,
    asks: [['write_file', { path: REPORT, content: report(results, notes) }]],
  };
}

/** Every figure and name in it is out of a tool's result. */
function report(results: readonly ToolResult[], notes: readonly string[]): string {
  const folders = foldersOf(results);
  const { name, dependencies } = packageIn(textOfFile(results, 'package.json'));
  const read = results.filter((result) => result.name === 'read_file').at(-1);
  const hits = hitsOf(results);
  const files = [...new Set(hits.map(({ path }) => path))];
  return [
    '# What is in this repository',
    '',
    'Written by a scripted model; the facts come from the tools that it called.',
    '',
    `- Package: ${name ?? 'no name found'}, ${dependencies ?? 'unknown'} dependencies`,
    `- Title of ${README}: ${headingIn(textOfFile(results, README)) ?? 'none found'}`,
    `- Folders (${folders.length}): ${folders.join(', ') || 'none found'}`,
    `- ${PATTERN}: ${hits.length} lines in ${files.length} files`,
    ...files.slice(0, 10).map((path) => `  - ${path}: line ${hits.find((hit) => hit.path === path)?.line}`),
    ...(hits.length > 0 && read
      ? [`- Read: ${String(read.args['path'])}, ${read.text.split('\n').length} lines shown`]
      : []),
    ...(notes.length > 0 ? ['', '## Said while I worked', '', ...notes.map((note) => `- ${note}`)] : []),
    '',
  ].join('\n');
}

function summary(results: readonly ToolResult[], written: boolean): string {
  const { name } = packageIn(textOfFile(results, 'package.json'));
  const where = written
    ? ` The whole of it is in ${REPORT}.`
    : ' No report was written, since I may call no tool for it.';
  const found = `${foldersOf(results).length} folders, ${hitsOf(results).length} lines with ${PATTERN}`;
  return `I looked at ${name ?? 'the repository'} with ${results.length} tool calls: ${found}.${where}`;
}

function foldersOf(results: readonly ToolResult[]): string[] {
  return foldersIn(results.find((result) => result.name === 'list_files')?.text ?? '');
}

function hitsOf(results: readonly ToolResult[]): ReturnType<typeof hitsIn> {
  return hitsIn(results.find((result) => result.name === 'search_files')?.text ?? '');
}

function textOfFile(results: readonly ToolResult[], path: string): string {
  return results.find((result) => result.name === 'read_file' && result.args['path'] === path)?.text ?? '';
}

/** What people said after `message`, without the mark of steering. */
function notesAfter(message: WireMessage | undefined, messages: readonly WireMessage[]): string[] {
  if (!message) return [];
  return messages
    .slice(messages.indexOf(message) + 1)
    .filter(isUser)
    .flatMap((note) => textOf(note).split('\n'))
    .map((line) => cut(line.replace(/^\[STEERING\] /, '').trim(), 300))
    .filter((line) => line !== '');
}

function isUser(message: WireMessage): boolean {
  return message.role === 'user';
}
